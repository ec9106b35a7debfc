import numpy as np
import pytest
from scipy import sparse

from labelkin._utils.names import did_you_mean
from labelkin.experiments.run.groups import GROUPS, find_group
from labelkin.experiments.run.peers import COMPARED
from labelkin.experiments.run.variants import check_method, make_variant
from labelkin.methods import METHODS


def make(name):
    return make_variant(name, METHODS[name.partition("@")[0]], 5)


@pytest.mark.parametrize("name", ["vpcme@", "vpcme@threshold", "vpcme@=3"])
def test_malformed(name):
    with pytest.raises(ValueError, match="write it as name@parameter=value"):
        check_method(name, METHODS)


def test_make():
    model = make("vpcme@threshold=0.1@voting=soft@size=3")
    assert (model.threshold, model.voting) == (0.1, "soft")
    assert (model.n_estimators, model.random_state) == (3, 5)
    assert METHODS["vpcme"].make(0).threshold == 0.6


def test_unknown_names_are_answered_with_near_ones():
    with pytest.raises(ValueError, match=r"No method is called 'vpcm'\. Did you mean vpcme"):
        check_method("vpcm@threshold=0.1", METHODS)
    with pytest.raises(ValueError, match="Invalid parameter 'treshold'"):
        check_method("vpcme@treshold=0.1", METHODS)
    with pytest.raises(ValueError, match="Invalid parameter 'n_estimators'"):
        check_method("mlknn@size=3", METHODS)
    with pytest.raises(ValueError, match=r"called 'tabel3'\. Did you mean table3"):
        find_group("tabel3")
    assert did_you_mean("xyzzy", METHODS) == ""


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_groups_name_what_exists(group):
    from labelkin.datasets import dataset_names

    assert set(group.datasets) <= set(dataset_names(paper=True))
    for name in group.methods:
        check_method(name, COMPARED)


def test_groups_are_the_papers():
    assert len(GROUPS["table3"].datasets) == 12
    thresholds = [make(name).threshold for name in GROUPS["figure1"].methods]
    assert thresholds == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    sizes = [make(name).n_estimators for name in GROUPS["table5"].methods]
    assert sizes == [1, 10, 20, 30, 40, 50]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vpcme@estimator=knn", "_NearestRows"),
        ("vpcme@estimator=svm", "BinaryRelevanceClassifier"),
        ("vpcme@estimator=sklearn.tree:DecisionTreeClassifier", "DecisionTreeClassifier"),
        ("vpcme@estimator=sklearn.svm:LinearSVC", "BinaryRelevanceClassifier"),
        ("cchains@estimator=svm", "Pipeline"),
        ("rakel@estimator=sklearn.svm:LinearSVC", "LinearSVC"),
    ],
)
def test_any_estimator_as_base_learner(name, expected):
    check_method(name, METHODS)
    assert type(make(name).estimator).__name__ == expected


def test_an_unknown_base_learner_is_refused():
    with pytest.raises(ValueError, match=r"No base learner is called 'knm'\. Did you mean knn"):
        check_method("vpcme@estimator=knm", METHODS)


@pytest.mark.parametrize("name", GROUPS["bases"].methods)
def test_base_learners_take_sparse_rows_and_labels_of_few_rows(name):
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 12), density=0.3, rng=rng, format="csr")
    Y = rng.random((40, 3)) < [0.5, 0.5, 0.1]
    model = make(name)
    if "n_estimators" in model.get_params():
        model.set_params(n_estimators=2)
    assert model.fit(X, Y.astype(int)).predict_proba(X).shape == (40, 3)
