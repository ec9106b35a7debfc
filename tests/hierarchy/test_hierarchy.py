"""Hierarchies of labels: forms, closure, exact projections, decisions and metrics."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import xlogy
from sklearn.model_selection import GridSearchCV

from labelkin import (
    DecisionClassifier,
    HierarchyClassifier,
    LabelHierarchy,
    MLkNNClassifier,
    MultiLabelLogisticRegression,
    TableClassifier,
)
from labelkin.hierarchy._hierarchy import guess_separator
from labelkin.persistence import load_model, save_model
from support.data import make_data
from support.model_files import refused, save_unchecked

TREE = {"a": ["b", "c"], "b": ["d", "e"]}
DIAMOND = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("c", "e"), ("f", "e")]


def random_graph(rng, q, n_edges, tree):
    pairs = {}
    for child in range(1, q):
        above = rng.permutation(child)[: 1 if tree else rng.randint(0, 3)]
        if tree and rng.random_sample() < 0.2:
            above = above[:0]
        pairs |= {(int(parent), child): None for parent in above}
    return LabelHierarchy(list(pairs), labels=range(q))


# ------------------------------------------------------------------------------------------ forms


def test_all_forms_agree(tmp_path):
    pairs = [("a", "b"), ("a", "c"), ("b", "d"), ("b", "e")]
    nested = {"a": {"b": ["d", "e"], "c": []}}
    (tmp_path / "h.csv").write_text("parent,child\n" + "\n".join(",".join(p) for p in pairs))
    (tmp_path / "h.tsv").write_text("\n".join("\t".join(p) for p in pairs) + "\n\n")
    reversed_pairs = "\n".join(f"{child};{parent}" for parent, child in pairs)
    (tmp_path / "r.csv").write_text("Child;Parent\n" + reversed_pairs)
    (tmp_path / "h.json").write_text(json.dumps(TREE))
    expected = set(LabelHierarchy(pairs).pairs())
    for form in (TREE, nested, np.array(pairs), LabelHierarchy(pairs)):
        assert set(LabelHierarchy(form).pairs()) == expected
    for name in ("h.csv", "h.tsv", "r.csv", "h.json"):
        assert set(LabelHierarchy.from_file(tmp_path / name).pairs()) == expected


def test_names_with_a_separator():
    found = LabelHierarchy.from_names(["role::program", "use::edit::text", "role"], "::")
    assert found.names == ("role::program", "use::edit::text", "role", "use", "use::edit")
    assert found.path("use::edit::text") == "use > use::edit > use::edit::text"
    assert guess_separator(["x", "x.y", "x.y.z"]) == "."
    assert guess_separator(["x.y", "z"]) is None
    assert guess_separator(["Maps", "Maps."]) is None
    assert LabelHierarchy.of(None, ["x.y", "z"]).pairs() == []
    assert LabelHierarchy.of("none", ["x", "x.y"]).pairs() == []


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], "has a cycle, b → c → a → b: take out one"),
        ([("x", "a"), ("a", "a")], "has a cycle, a → a"),
        (["ab"], "pairs of parent and child.* got 'ab'"),
        ([("a", "b", "c")], "got .* as a pair"),
        ({"a": 3}, r"hierarchy\['a'\] must list the children"),
    ],
)
def test_bad_hierarchies_get_one_sentence(form, message):
    with pytest.raises(ValueError, match=message):
        LabelHierarchy(form)


def test_names_in_files_are_in_normal_form(tmp_path):
    (tmp_path / "h.csv").write_text("cafe\u0301,b\n", encoding="utf-8")
    assert LabelHierarchy.from_file(tmp_path / "h.csv").names == ("caf\u00e9", "b")


def test_bad_files_and_labels_get_one_sentence(tmp_path):
    (tmp_path / "h.csv").write_text("a,b\nc\n")
    with pytest.raises(ValueError, match=r"h.csv, line 2: it takes a parent and a child"):
        LabelHierarchy.from_file(tmp_path / "h.csv")
    with pytest.raises(ValueError, match="cannot be read as a hierarchy"):
        LabelHierarchy.from_file(tmp_path / "missing.csv")
    deep = '{"a":' * 900 + "5" + "}" * 900
    for text in ("5", "null", '{"a": 5}', '{"a": ["b"], "a": ["c"]}', deep):
        (tmp_path / "h.json").write_text(text)
        with pytest.raises(ValueError, match=r"h.json cannot be read as a hierarchy"):
            LabelHierarchy.from_file(tmp_path / "h.json")
    with pytest.raises(ValueError, match="hierarchy='/' separates no label from its parent"):
        LabelHierarchy.of("/", ["a", "b"])
    with pytest.raises(ValueError, match="hierarchy has none of the labels x, y"):
        LabelHierarchy.of(TREE, ["x", "y"])
    with pytest.raises(ValueError, match="y has 2 columns, but the hierarchy has 5 labels"):
        LabelHierarchy(TREE).closure([[0, 1]])
    with pytest.raises(ValueError, match="y has the label 'z', which the hierarchy"):
        LabelHierarchy(TREE).closure(pd.DataFrame({"z": [1]}))
    with pytest.raises(ValueError, match="no label 'bb'"):
        LabelHierarchy(TREE).path("bb")


# ---------------------------------------------------------------------------------------- closure


def test_closure_of_every_kind_of_y():
    tree = LabelHierarchy(TREE)  # a b c d e
    y, closed = [[0, 0, 0, 1, 0], [0, 0, 1, 0, 0]], [[1, 1, 0, 1, 0], [1, 0, 1, 0, 0]]
    np.testing.assert_array_equal(tree.closure(y), closed)
    np.testing.assert_array_equal(tree.closure(sparse.csr_matrix(y)).toarray(), closed)
    frame = tree.closure(pd.DataFrame({"d": [1, 0], "c": [0, 1]}, index=[7, 8]))
    assert list(frame.columns) == list(tree.names)
    assert list(frame.index) == [7, 8]
    np.testing.assert_array_equal(frame, closed)
    unknown = tree.closure([[np.nan, 0, np.nan, np.nan, np.nan], [np.nan, np.nan, 0, 1, np.nan]])
    np.testing.assert_array_equal(unknown, [[np.nan, 0, np.nan, 0, 0], [1, 1, 0, 1, np.nan]])
    np.testing.assert_array_equal(
        LabelHierarchy(DIAMOND).closure([[0, 0, 0, 1, 0, 0]]), [[1, 1, 1, 1, 0, 0]]
    )


# ------------------------------------------------------------------------------------- projection


@pytest.mark.parametrize("tree", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_projection_against_a_solver(tree, seed):
    rng = np.random.RandomState(seed)
    q = rng.randint(2, 9)
    hierarchy = random_graph(rng, q, q, tree)
    values = rng.random_sample((6, q)).round(1)  # with ties
    found = hierarchy.project(values)
    above, below = hierarchy.edges.T
    assert (found[:, above] >= found[:, below]).all()
    for x, z in zip(values, found, strict=True):
        best = minimize(
            lambda p, x=x: ((p - x) ** 2).sum(),
            np.full(q, 0.5),
            jac=lambda p, x=x: 2 * (p - x),
            constraints={"type": "ineq", "fun": lambda p: p[above] - p[below]},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        np.testing.assert_allclose(z, best.x, atol=1e-5)
        # Optimal: no feasible point is nearer.
        assert ((z - x) ** 2).sum() <= best.fun + 1e-10


@pytest.mark.parametrize("form", [TREE, DIAMOND])
def test_projection_is_that_of_log_loss_too(form):
    rng = np.random.RandomState(0)
    hierarchy = LabelHierarchy(form)
    values = rng.uniform(0.05, 0.95, size=(3, len(hierarchy.names)))
    found = hierarchy.project(values)

    def loss(x, p):
        return -(xlogy(x, p) + xlogy(1 - x, 1 - p)).sum()

    above, below = hierarchy.edges.T
    for x, z in zip(values, found, strict=True):
        best = minimize(
            lambda p, x=x: loss(x, np.clip(p, 1e-6, 1 - 1e-6)),
            np.full(len(x), 0.5),
            bounds=[(0.01, 0.99)] * len(x),
            constraints={"type": "ineq", "fun": lambda p: p[above] - p[below]},
            options={"ftol": 1e-12, "maxiter": 500},
        )
        assert loss(x, z) <= best.fun + 1e-9
        np.testing.assert_allclose(z, best.x, atol=1e-3)


def test_projection_of_a_large_tree_and_of_consistent_rows():
    rng = np.random.RandomState(0)
    names = [f"{i}/{j}/{k}" for i, j, k in product(range(6), range(5), range(4))]
    hierarchy = LabelHierarchy.from_names(names, "/")
    values = rng.random_sample((300, len(hierarchy.names)))
    found = hierarchy.project(values)
    above, below = hierarchy.edges.T
    assert (found[:, above] >= found[:, below]).all()
    np.testing.assert_allclose(found.sum(axis=1), values.sum(axis=1))  # blocks are means
    np.testing.assert_array_equal(hierarchy.project(found), found)
    # The same by the solver for graphs.
    other = LabelHierarchy([*hierarchy.pairs(), ("root", "0"), ("top", "0")])
    wide = np.ones((5, len(other.names)))
    wide[:, [other.names.index(name) for name in hierarchy.names]] = values[:5]
    again = other.project(wide)[:, [other.names.index(name) for name in hierarchy.names]]
    np.testing.assert_allclose(again, found[:5], atol=1e-9)


# -------------------------------------------------------------------------------------- decisions


@pytest.mark.parametrize("form", [TREE, DIAMOND])
def test_decisions_are_the_best_consistent_sets(form):
    rng = np.random.RandomState(1)
    hierarchy = LabelHierarchy(form)
    q = len(hierarchy.names)
    sets = np.array(list(product([0, 1], repeat=q)))
    above, below = hierarchy.edges.T
    sets = sets[(sets[:, above] >= sets[:, below]).all(axis=1)]
    for _ in range(30):
        values, cuts = rng.random_sample((1, q)), rng.random_sample(q)
        gains = sets @ (values[0] - cuts)
        chosen = hierarchy.decide(values, cuts)[0]
        assert chosen @ (values[0] - cuts) == pytest.approx(gains.max())
        assert (chosen[above] >= chosen[below]).all()
    assert not hierarchy.decide(np.ones((1, q)), [np.inf] * q).any()


def test_hierarchical_scores_by_hand():
    tree = LabelHierarchy(TREE)  # a b c d e
    # Closures: {a b d} against {a b e}, shared {a b}; {a c} against {a c}.
    truth, predicted = [[0, 0, 0, 1, 0], [0, 0, 1, 0, 0]], [[0, 0, 0, 0, 1], [0, 0, 1, 0, 0]]
    assert tree.scores(truth, predicted) == {"precision": 4 / 5, "recall": 4 / 5, "f1": 4 / 5}
    # {a b d} against {a}: all that is predicted is right, a third is found.
    found = tree.scores(truth[:1], [[1, 0, 0, 0, 0]])
    assert found == {"precision": 1.0, "recall": 1 / 3, "f1": 1 / 2}
    none = [[0] * 5]
    assert tree.scores(none, none) == {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert tree.scores(none, truth[:1]) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


# ------------------------------------------------------------------------------------- classifier


def nested_data(n=120):
    X, Y = make_data(n=n)
    y = pd.DataFrame(Y[:, :4], columns=["s", "s/p", "s/p/q", "t"])
    return X, y


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        MultiLabelLogisticRegression(C=1.0),
        DecisionClassifier(MLkNNClassifier(), "macro_f1", random_state=0),
    ],
)
def test_predictions_keep_to_the_hierarchy(estimator, tmp_path):
    X, y = nested_data()
    model = HierarchyClassifier(estimator).fit(X, y)
    assert model.hierarchy_.pairs() == [("s", "s/p"), ("s/p", "s/p/q")]
    P, Z = model.predict_proba(X), model.predict(X)
    for values in (P, Z):
        assert values.shape == (len(X), 4)
        assert (values[:, 0] >= values[:, 1]).all()
        assert (values[:, 1] >= values[:, 2]).all()
    save_model(model, tmp_path / "m.labelkin")
    loaded = load_model(tmp_path / "m.labelkin")
    np.testing.assert_array_equal(loaded.predict(X), Z)
    assert loaded.hierarchy_ == model.hierarchy_


def test_labels_that_y_lacks_are_learned():
    X, Y = make_data()
    y = pd.DataFrame(Y[:, :3], columns=["role::a", "role::b", "use::c"])
    model = HierarchyClassifier(hierarchy="::").fit(X, y)
    assert model.hierarchy_.names == ("role::a", "role::b", "use::c", "role", "use")
    assert model.predict(X).shape == y.shape
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) > 0.5)
    unrelated = HierarchyClassifier(hierarchy={"role::a": ["x", "y"], "z": ["role::a"]}).fit(X, y)
    assert unrelated.hierarchy_.names == (*y.columns, "z")


def test_without_a_hierarchy_nothing_changes():
    X, Y = make_data()
    plain, wrapped = MLkNNClassifier().fit(X, Y), HierarchyClassifier().fit(X, Y)
    np.testing.assert_array_equal(plain.predict_proba(X), wrapped.predict_proba(X))
    np.testing.assert_array_equal(plain.predict(X), wrapped.predict(X))
    numbered = HierarchyClassifier(hierarchy=[(0, 1)]).fit(X, Y).predict_proba(X)
    assert (numbered[:, 0] >= numbered[:, 1]).all()


def test_a_cycle_in_a_model_file_is_refused(tmp_path):
    X, y = nested_data()
    model = HierarchyClassifier().fit(X, y)
    model.hierarchy_.edges = np.array([[0, 1], [1, 0]])
    refused(save_unchecked(model, tmp_path / "m.labelkin"), "cycle")
    model.hierarchy_.edges = np.array([[0, 9]])
    refused(save_unchecked(model, tmp_path / "m.labelkin"), "do not match")


def test_columns_of_an_array_and_decisions_around():
    X, y = nested_data()
    hierarchy = LabelHierarchy.from_names(y.columns, "/")
    named = HierarchyClassifier(MLkNNClassifier(), hierarchy).fit(X, y)
    numbered = HierarchyClassifier(MLkNNClassifier(), hierarchy).fit(X, y.to_numpy())
    np.testing.assert_array_equal(named.predict_proba(X), numbered.predict_proba(X))
    for decision in ("macro_f1", "recall:0.9"):
        model = DecisionClassifier(numbered, decision, random_state=0).fit(X, y)
        Z = model.predict(X)
        assert (Z[:, 0] >= Z[:, 1]).all()
        assert (Z[:, 1] >= Z[:, 2]).all()


def test_unknown_labels_below_a_label_that_y_lacks():
    hierarchy = LabelHierarchy.from_names(["r/a", "r/b"], "/")
    y = np.array([[np.nan, 0], [np.nan, 1], [0, 0]])
    np.testing.assert_array_equal(hierarchy.close(y), y)
    X = np.arange(12.0).reshape(6, 2) % 5
    model = HierarchyClassifier(MultiLabelLogisticRegression(C=1.0), hierarchy="/")
    seen = {}

    class Recorder(MultiLabelLogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen["y"] = y
            return super().fit(X, y)

    y = pd.DataFrame({"r/a": [np.nan, 1, 0, 0, 1, 0], "r/b": [0, 1, 0, 1, 0, 0]})
    model.set_params(estimator=Recorder(C=1.0)).fit(X, y)
    np.testing.assert_array_equal(seen["y"][:3, 2], [np.nan, 1, 0])


def test_one_label_cannot_be_nested():
    X, Y = make_data()
    with pytest.raises(ValueError, match="y must be a matrix of 0 and 1, one column per label"):
        HierarchyClassifier(MLkNNClassifier(), [(0, 1)]).fit(X, Y[:, 0])


def test_wrappers_keep_the_names_of_labels():
    X, y = nested_data()
    plain = HierarchyClassifier(MLkNNClassifier(), "/").fit(X, y)
    base = HierarchyClassifier(MLkNNClassifier(), "/")
    for inner in (base, TableClassifier(base), GridSearchCV(base, {}, cv=2)):
        model = DecisionClassifier(inner, "f1", cv=2).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    last = y.columns[-1]
    inner = DecisionClassifier(MLkNNClassifier(), "fixed", cut={last: 0.2})
    model = HierarchyClassifier(inner, "/").fit(X, y)
    assert model.estimator_.thresholds_[len(y.columns) - 1] == 0.2
