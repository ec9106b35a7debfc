import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from labelkin.methods import METHODS, user_method, with_dense_rows
from support.data import make_data


def test_the_papers_methods_are_all_here():
    table3 = ["rakel", "iblr", "clr", "cchains", "mlknn", "vpcme"]
    figure2 = ["adaboost_pdt", "bagging_vpcp", "mddm", "vpcme"]
    assert set(table3) | set(figure2) <= set(METHODS)
    assert [name for name in METHODS if name in table3] == table3


def test_the_papers_settings():
    assert METHODS["vpcme"].make(0).get_params()["n_estimators"] == 30
    assert METHODS["vpcme"].make(0).get_params()["threshold"] == 0.6
    assert METHODS["mddm"].make(0).get_params()["mddm__n_components"] == 0.99
    assert METHODS["rakel_k3"].make(0).get_params()["labelset_size"] == 3


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_described(name):
    method = METHODS[name]
    assert method.name == name
    assert method.title
    assert method.settings


def test_sparse_rows_are_made_dense():
    X, Y = make_data(n=40, q=2)
    model = with_dense_rows(OneVsRestClassifier(LogisticRegression())).fit(X, Y)
    np.testing.assert_array_equal(model.predict(sparse.csr_array(X)), model.predict(X))


def test_classifiers_of_one_target_are_trained_label_by_label():
    with pytest.warns(UserWarning, match="linear: one copy of LogisticRegression is fitted for"):
        method = user_method("linear=sklearn.linear_model:LogisticRegression")
    model = method.make(3)
    assert isinstance(model, OneVsRestClassifier)
    assert isinstance(model.estimator, LogisticRegression)


def test_user_methods_are_seeded():
    method = user_method("forest=sklearn.ensemble:RandomForestClassifier")
    assert (method.name, method.title) == ("forest", "forest")
    assert method.make(1).random_state == method.make(1).random_state != method.make(2).random_state


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("forest", ValueError, "name=module:factory"),
        ("f=sklearn.ensemble.RandomForestClassifier", ValueError, "name=module:factory"),
        ("a@b=sklearn.svm:SVC", ValueError, "name=module:factory"),
        ("mlknn=sklearn.svm:SVC", ValueError, "'mlknn' is a known method"),
        ("f=no_such_module:f", ImportError, "no module 'no_such_module'"),
        ("f=sklearn.svm:NoSuch", ValueError, "NoSuch"),
        ("f=collections:OrderedDict", ValueError, "no fit and predict"),
        ("f=math:sqrt", ValueError, "math:sqrt gives no classifier when it is called without arg"),
    ],
)
def test_wrong_user_methods(text, error, words):
    with pytest.raises(error, match=words):
        user_method(text)


def test_a_method_may_have_no_tags(tmp_path):
    (tmp_path / "untagged.py").write_text(
        "class Untagged:\n"
        "    def get_params(self, deep=True):\n        return {}\n\n"
        "    def fit(self, X, y):\n        return self\n\n"
        "    def predict(self, X):\n        return X\n"
    )
    assert user_method(f"{tmp_path / 'untagged.py'}:Untagged").title == "Untagged"


def test_a_method_of_a_file_needs_no_name(tmp_path):
    (tmp_path / "mine_alone.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\n\n\n"
        "class MyClassifier(DecisionTreeClassifier):\n    pass\n"
    )
    method = user_method(f"{tmp_path / 'mine_alone.py'}:MyClassifier")
    assert method.name == "MyClassifier"
    assert type(method.make(0)).__name__ == "MyClassifier"
    assert user_method(f"tree={tmp_path / 'mine_alone.py'}:MyClassifier").name == "tree"
    with pytest.raises(ValueError, match=r"there is no file none\.py"):
        user_method("none.py:MyClassifier")
