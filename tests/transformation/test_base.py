"""Single-label classifiers fitted to one matrix."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_array

from labelkin import BinaryRelevanceClassifier, ChainClassifier
from labelkin.base import set_random_states
from labelkin.transformation._base import Trainer
from labelkin.tree import C45TreeClassifier
from labelkin.tree._presorted import add_columns
from support.data import make_data


class Recorder(ClassifierMixin, BaseEstimator):
    """Keeps the settings that it is fitted under."""

    def fit(self, X, y):
        self.seen_ = get_config()
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_scikit_learns_settings_hold_in_threads():
    X, Y = make_data(30, 3, 6)
    with config_context(working_memory=77):
        model = BinaryRelevanceClassifier(Recorder(), n_jobs=3).fit(X, Y)
    for member in model.estimators_:
        assert member.seen_["working_memory"] == 77
        assert not member.seen_["assume_finite"]


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
    # A step of the base's own that makes them is noticed by the next step.
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
def test_members_are_seeded_clones(base):
    X, Y = make_data(60, 3, 2)
    first, second = (Trainer(base, X, None).fit(Y[:, label], label) for label in (0, 1))
    for label, member in enumerate((first, second)):
        expected = set_random_states(clone(base), np.random.RandomState(label)).get_params()
        for name, value in member.get_params().items():
            assert not name.endswith("random_state") or value == expected[name]
    assert not np.array_equal(first.predict(X), second.predict(X))
    assert not hasattr(base, "classes_")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("base", [GaussianNB(), C45TreeClassifier()])
def test_added_columns_are_stacked_ones(base, form):
    X, Y = make_data(20, 3, 4)
    X = X.astype(np.float32)
    matrix = Trainer(base, form(X), None).X
    assert add_columns(matrix, Y[:, :0]) is matrix
    wide = add_columns(matrix, Y)
    rows = wide.X if isinstance(base, C45TreeClassifier) else wide
    assert isinstance(base, C45TreeClassifier) or rows.dtype == np.float32
    assert sparse.issparse(rows) == (form is sparse.csr_array)
    dense = rows.toarray() if sparse.issparse(rows) else rows
    np.testing.assert_array_equal(dense, np.hstack([X, Y]))


def test_bases_that_need_whole_rows_in_memory_get_them():
    class Contiguous(GaussianNB):
        def fit(self, X, y):
            return super().fit(check_array(X, order="C", copy=False), y)

    X, Y = make_data(60, 3, 4)
    expected = ChainClassifier(GaussianNB()).fit(X, Y).predict_proba(X)
    found = ChainClassifier(Contiguous()).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(found, expected)
