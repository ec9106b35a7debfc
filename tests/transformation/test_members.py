"""Members fitted on one matrix: what is checked once, and what is as in a plain fit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils._mocking import CheckingClassifier
from sklearn.utils.validation import check_array

from labelkin import BinaryRelevanceClassifier, ChainClassifier
from labelkin.base import seeded
from labelkin.transformation._base import (
    LabelledMatrix,
    QueryRows,
    TrainingMatrix,
    WideRows,
    is_plain,
)
from support.data import make_data


class Recorder(ClassifierMixin, BaseEstimator):
    """Not scikit-learn's own: notes the settings it is fitted and asked under."""

    _parameter_constraints: dict = {}

    def fit(self, X, y):
        self.seen_ = get_config()
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        assert not get_config()["assume_finite"]
        return np.full(len(X), self.classes_[0])


class OwnedRecorder(Recorder):
    """The same, as if scikit-learn's."""

    __module__ = "sklearn.own"

    def predict(self, X):
        assert get_config()["assume_finite"]
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize(
    ("base", "plain"),
    [
        (GaussianNB(), True),
        (SGDClassifier(), True),
        (RandomForestClassifier(), True),
        (GaussianNB(priors=[0.5, 0.5]), False),
        (make_pipeline(GaussianNB()), False),
        (Recorder(), False),
        (CheckingClassifier(), False),  # without rules for its parameters
    ],
)
def test_what_is_plain(base, plain):
    assert is_plain(base) is plain


@pytest.mark.parametrize("Base", [Recorder, OwnedRecorder])
def test_only_scikit_learns_own_are_spared_the_checks(Base):
    X, Y = make_data(30, 3, 2)
    with config_context(working_memory=77):
        member = TrainingMatrix(X, Base()).fit(Y[:, 0])
        QueryRows(X).proba(member)
    spared = Base is OwnedRecorder
    assert member.seen_["assume_finite"] is member.seen_["skip_parameter_validation"] is spared
    assert member.seen_["working_memory"] == 77
    assert not get_config()["assume_finite"]


def test_in_threads_too():
    X, Y = make_data(30, 3, 6)
    model = BinaryRelevanceClassifier(OwnedRecorder(), n_jobs=3).fit(X, Y)
    model.predict(X)
    assert all(member.seen_["assume_finite"] for member in model.estimators_)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_still_refused(bad):
    X, Y = make_data(30, 3, 2)
    broken = X.copy()
    broken[4, 1] = bad
    model = BinaryRelevanceClassifier(GaussianNB())
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.fit(broken, Y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.fit(X, Y).predict(broken)
    # A step of the base's own that breaks them is seen by the next, which checks as usual.
    spoils = FunctionTransformer(lambda rows: np.full_like(rows, bad))
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        BinaryRelevanceClassifier(make_pipeline(spoils, GaussianNB())).fit(X, Y)


def test_a_bad_parameter_of_the_base_is_still_named():
    X, Y = make_data(30, 3, 2)
    with pytest.raises(ValueError, match="var_smoothing"):
        BinaryRelevanceClassifier(GaussianNB(var_smoothing=-1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="var_smoothing"):
        BinaryRelevanceClassifier(make_pipeline(GaussianNB(var_smoothing=-1.0))).fit(X, Y)


@pytest.mark.parametrize("base", [SGDClassifier(), make_pipeline(SGDClassifier())])
def test_members_are_apart_and_seeded_as_clones_are(base):
    X, Y = make_data(60, 3, 2)
    matrix = TrainingMatrix(X, base)
    first, second = (matrix.fit(Y[:, label], seed=label) for label in (0, 1))
    for label, member in enumerate((first, second)):
        # As a fresh generator would draw it.
        plain = seeded(clone(base), np.random.RandomState(label))
        seeds = [m.get_params() for m in (member, plain)]
        names = [name for name in seeds[0] if name.endswith("random_state")]
        assert [seeds[0][n] for n in names] == [seeds[1][n] for n in names]
    assert not np.array_equal(first.predict(X), second.predict(X))
    assert not hasattr(matrix.base, "classes_")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_wide_rows_are_stacked_ones(form):
    X, Y = make_data(20, 3, 4)
    X = X.astype(np.float32)
    wide = WideRows(form(X), Y.copy())
    for k in range(5):
        rows = wide.first(k)
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(
            rows.toarray() if sparse.issparse(rows) else rows, np.hstack([X, Y[:, :k]])
        )
    wide.put(2, 1 - Y[:, 2])
    assert (wide.first(3)[:, [5]] != Y[:, [2]]).sum() == 20


def test_a_chains_features_are_copied_once():
    X, Y = make_data(20, 3, 4)
    labelled = LabelledMatrix(TrainingMatrix(X, GaussianNB()), Y)
    assert labelled.first(0).X is X
    assert np.shares_memory(labelled.first(1).X, labelled.first(4).X)


def test_bases_that_need_whole_rows_in_memory_get_them():
    class Contiguous(GaussianNB):
        def fit(self, X, y):
            return super().fit(check_array(X, order="C", copy=False), y)

    X, Y = make_data(60, 3, 4)
    expected = ChainClassifier(GaussianNB()).fit(X, Y).predict_proba(X)
    found = ChainClassifier(Contiguous()).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(found, expected)
