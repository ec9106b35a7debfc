"""C4.5 against hand-worked trees, a plain transcription of its rules, and Mulan's J48."""

import json
import math
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.datasets import load_iris

from labelkin import BinaryRelevanceClassifier
from labelkin.tree import C45TreeClassifier
from labelkin.tree._presorted import PresortedMatrix, add_columns
from support.data import DATA, REFERENCE, needs_reference

pytest.importorskip("numba", reason="the tree extra (numba) is not installed")


# outlook, temperature, humidity, windy, play (Quinlan 1993; Witten and Frank)
WEATHER = """
sunny 85 85 0 no|sunny 80 90 1 no|overcast 83 86 0 yes|rainy 70 96 0 yes|rainy 68 80 0 yes
rainy 65 70 1 no|overcast 64 65 1 yes|sunny 72 95 0 no|sunny 69 70 0 yes|rainy 75 80 0 yes
sunny 75 70 1 yes|overcast 72 90 1 yes|overcast 81 75 0 yes|rainy 71 91 1 no
"""
WEATHER_NAMES = ["sunny", "overcast", "rainy", "temperature", "humidity", "windy"]


def weather():
    rows = [row.split() for row in WEATHER.replace("\n", "|").split("|") if row.strip()]
    outlook = np.array([row[0] for row in rows])
    X = np.column_stack(
        [outlook == "sunny", outlook == "overcast", outlook == "rainy"]
        + [[float(row[j]) for row in rows] for j in (1, 2, 3)]
    ).astype(float)
    return X, np.array([row[4] for row in rows]), outlook


def structure(tree):
    """What makes a tree: its tests and the class weights of its nodes."""
    t = tree.tree_
    return t.feature, t.threshold, t.children_left, t.children_right, t.value


def assert_same_tree(one, other, rtol=1e-9):
    for a, b in zip(structure(one), structure(other), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-9)


# --- hand-worked trees -------------------------------------------------------------------


def test_iris_is_the_well_known_j48_tree():
    iris = load_iris()
    tree = C45TreeClassifier().fit(iris.data, iris.target_names[iris.target])
    names = ["sepallength", "sepalwidth", "petallength", "petalwidth"]
    assert tree.export_text(names).split("\n") == [
        "petalwidth <= 0.6: setosa (50)",
        "petalwidth > 0.6",
        "|   petalwidth <= 1.7",
        "|   |   petallength <= 4.9: versicolor (48/1)",
        "|   |   petallength > 4.9",
        "|   |   |   petalwidth <= 1.5: virginica (3)",
        "|   |   |   petalwidth > 1.5: versicolor (3/1)",
        "|   petalwidth > 1.7: virginica (46/1)",
    ]
    assert tree.get_n_leaves() == 5
    assert tree.get_depth() == 4


def test_weather_branches_are_those_of_j48():
    # J48's tree splits on outlook first; below, sunny days split on humidity, rainy ones on
    # wind, overcast ones not at all.
    X, y, outlook = weather()
    for kind, expected in {
        "sunny": ["humidity <= 70: yes (2)", "humidity > 70: no (3)"],
        "rainy": ["windy <= 0: yes (3)", "windy > 0: no (2)"],
        "overcast": [": yes (4)"],
    }.items():
        tree = C45TreeClassifier().fit(X, y, sample_weight=outlook == kind)
        assert tree.export_text(WEATHER_NAMES).split("\n") == expected


def test_weather_split_point_is_a_value_of_the_whole_training_set():
    # With one class for all other days the tree asks for sunny first. Among those the cut lies
    # between 70 and 85; 75, an overcast day's humidity, is the largest value up to 77.5.
    X, y, outlook = weather()
    y = np.where(outlook == "sunny", y, "indoors")
    tree = C45TreeClassifier(nominal_features="binary").fit(X, y)
    assert tree.export_text(WEATHER_NAMES).split("\n") == [
        "sunny <= 0: indoors (9)",
        "sunny > 0",
        "|   humidity <= 75: yes (2)",
        "|   humidity > 75: no (3)",
    ]


def test_weather_with_indicator_columns():
    # Root: overcast, gain 0.940 - 10/14 = 0.226, ratio 0.262. The other ten days (5 yes,
    # 5 no): wind, gain 0.125, ratio 0.128; humidity gains 0.278 at 80|85 but pays
    # log2(5)/10 = 0.232 for five possible cuts. Windless days (4 yes, 2 no): sunny, gain and
    # ratio 0.459. Windy days (1 yes, 3 no) could be split the same way, without saving an
    # error: collapsed.
    X, y, _ = weather()
    expected = [
        "overcast <= 0",
        "|   windy <= 0",
        "|   |   sunny <= 0: yes (3)",
        "|   |   sunny > 0: no (3/1)",
        "|   windy > 0: no (4/1)",
        "overcast > 0: yes (4)",
    ]
    tree = C45TreeClassifier(nominal_features="binary").fit(X, y)
    assert tree.export_text(WEATHER_NAMES).split("\n") == expected
    assert (tree.predict(X) == y).sum() == 12


def test_gain_ratio_and_mdl_correction_by_hand():
    # Ten samples, cuts possible with two on either side: values 1..10 give seven cuts. The
    # classes change once, at 3|4: gain 0.8813 - log2(7)/10 = 0.6006 (kept). With mixed
    # classes the best gain (0.2365 at 2|3) is below log2(7)/10 = 0.2807: no split at all.
    X = np.arange(1.0, 11.0)[:, None]
    clean = C45TreeClassifier(pruning=False).fit(X, X[:, 0] > 3)
    assert clean.tree_.threshold[0] == 3
    y = np.array([0, 0, 1, 0, 1, 1, 0, 1, 1, 0])
    assert C45TreeClassifier(pruning=False).fit(X, y).get_n_leaves() == 1


def test_splits_below_the_mean_gain_do_not_compete():
    # Column 0 sets 2 of 8 positives apart: gain 0.138, split info 0.544, ratio 0.254.
    # Column 1 halves the sample into 6 + 2 and 2 + 6: gain and ratio 0.189.
    y = np.array([1] * 8 + [0] * 8)
    X = np.zeros((16, 2))
    X[:2, 0] = 1
    X[:6, 1] = 1
    X[8:10, 1] = 1
    gains, ratios = [], []
    for column in X.T:
        share = column.mean()
        inner = sum(
            m.mean() * entropy(np.bincount(y[m], minlength=2)) for m in (column == 0, column == 1)
        )
        gains.append(1 - inner)
        ratios.append((1 - inner) / entropy(np.array([share, 1 - share])))
    assert gains[1] > gains[0]
    assert ratios[0] > ratios[1]
    assert gains[0] < np.mean(gains) - 1e-3
    assert C45TreeClassifier(pruning=False).fit(X, y).tree_.feature[0] == 1


@pytest.mark.parametrize(
    ("n", "errors", "expected"),
    [
        (1, 0, 0.75),  # 1·(1 - 0.25)
        (2, 0, 1.0),  # 2·(1 - 0.5)
        (6, 0, 1.237797),  # Quinlan: U(0, 6) = 0.206
        (9, 0, 1.284804),  # Quinlan: U(0, 9) = 0.143
        (2, 1, 0.791493),
        (4, 1, 1.171991),
        (16, 1, 1.475715),
        (2, 0.5, 0.895747),  # half-way between (2, 0) and (2, 1)
        (3, 2.7, 0.3),  # no more errors than samples
        (3, 3, 0.0),
    ],
)
def test_extra_errors_by_hand(n, errors, expected):
    from labelkin.tree._c45 import extra_errors

    assert extra_errors(n, errors, 0.25, norm.ppf(0.75)) == pytest.approx(expected, abs=1e-6)


def test_pruning_by_hand():
    # Leaves (2, no error) and (2, one error) save no error: collapsed, also without pruning.
    X, y = [[0], [0], [1], [1]], [0, 0, 0, 1]
    assert C45TreeClassifier(pruning=False).fit(X, y).get_n_leaves() == 1
    # Leaves (15, 0) and (1, 0): 1.324 + 0.75 = 2.074, against 2.476 for one leaf: kept.
    X, y = [[0]] * 15 + [[1]], [0] * 15 + [1]
    assert (
        C45TreeClassifier(min_samples_leaf=1, nominal_features="binary").fit(X, y).get_n_leaves()
        == 2
    )
    # Three samples (one error) beside many: the split saves an error of training both times.
    # Beside 12 (2 errors) 5.612 against 5.771: kept. Beside 20 (7 errors) 11.045 against
    # 11.116: within 0.1, so the smaller tree wins.
    for n, wrong, n_leaves in ((12, 2, 2), (20, 7, 1)):
        X = [[1]] * 3 + [[0]] * n
        y = [1, 1, 0] + [1] * wrong + [0] * (n - wrong)
        assert C45TreeClassifier(pruning=False).fit(X, y).get_n_leaves() == 2
        assert C45TreeClassifier().fit(X, y).get_n_leaves() == n_leaves


# --- a plain transcription of the rules, as an oracle --------------------------------------


def entropy(weights):
    p = weights[weights > 0] / weights.sum()
    return float(-(p * np.log2(p)).sum())


class Oracle:
    """C4.5 by its rules, with nested dictionaries and no thought of speed."""

    def __init__(self, nominal=(), n_classes=2, min_leaf=2, confidence=0.25):
        self.nominal, self.n_classes, self.min_leaf = set(nominal), n_classes, min_leaf
        self.confidence = confidence

    def fit(self, X, y, w):
        self.X, self.y, self.w = X, y, w
        self.n_raised = 0
        root = self.grow(np.arange(len(y)))
        self.collapse(root)
        return self.prune(root)

    def counts(self, rows):
        return np.bincount(self.y[rows], self.w[rows], self.n_classes)

    def cuts(self, f, rows, least):
        x = self.X[rows, f]
        values = np.unique(x)
        for low, high in pairwise(values):
            sides = [self.counts(rows[x <= low]), self.counts(rows[x > low])]
            if high - low > 1e-5 and min(s.sum() for s in sides) > least - 1e-6:
                yield low, high, sides

    def candidate(self, f, rows):
        counts = self.counts(rows)
        total, nominal = counts.sum(), f in self.nominal
        least = self.min_leaf
        if not nominal:
            least = max(least, min(25, 0.1 * total / self.n_classes))
        best = None
        cuts = list(self.cuts(f, rows, least))
        for low, high, sides in cuts:
            gain = entropy(counts) - sum(s.sum() / total * entropy(s) for s in sides)
            if best is None or gain > best[0] + 1e-6:
                if best is None and not nominal and gain < 1e-6:
                    continue
                best = (gain, low, high, sides)
        if best is None:
            return None
        gain, low, high, sides = best
        if not nominal:
            gain -= math.log2(len(cuts)) / total
            if gain < 1e-6:
                return None
        return gain, gain / entropy(np.array([s.sum() for s in sides])), f, low, high

    def grow(self, rows):
        counts = self.counts(rows)
        leaf = {"rows": rows}
        if counts.sum() < 2 * self.min_leaf - 1e-6 or counts.sum() - counts.max() < 1e-6:
            return leaf
        found = [c for f in range(self.X.shape[1]) if (c := self.candidate(f, rows))]
        if not found:
            return leaf
        mean, best = np.mean([c[0] for c in found]), None
        for c in found:
            if c[0] >= mean - 1e-3 and c[1] > (best[1] if best else 0) + 1e-6:
                best = c
        if best is None:
            return leaf
        _, _, f, low, high = best
        column = self.X[:, f]
        point = column[column <= (low + high) / 2].max()
        left = column[rows] <= point
        return {"rows": rows, "f": f, "t": point,
                "sons": [self.grow(rows[left]), self.grow(rows[~left])]}  # fmt: skip

    def leaf_errors(self, rows):
        counts = self.counts(rows)
        return counts.sum() - counts.max()

    def training_errors(self, node):
        if "sons" not in node:
            return self.leaf_errors(node["rows"])
        return sum(map(self.training_errors, node["sons"]))

    def collapse(self, node):
        if "sons" in node:
            if self.training_errors(node) >= self.leaf_errors(node["rows"]) - 1e-3:
                del node["sons"]
            else:
                for son in node["sons"]:
                    self.collapse(son)

    def estimate(self, rows):
        n, e, cf = self.w[rows].sum(), self.leaf_errors(rows), self.confidence

        def extra(e):
            if e < 1:
                base = n * (1 - cf ** (1 / n))
                return base if e == 0 else base + e * (extra(1) - base)
            if e + 0.5 >= n:
                return max(n - e, 0)
            z, f = norm.ppf(1 - cf), (e + 0.5) / n
            root = math.sqrt(f / n - f * f / n + z * z / (4 * n * n))
            return (f + z * z / (2 * n) + z * root) / (1 + z * z / n) * n - e

        return e + extra(e) if n > 1e-6 else 0.0

    def estimate_tree(self, node, rows=None):
        rows = node["rows"] if rows is None else rows
        if "sons" not in node:
            return self.estimate(rows)
        left = self.X[rows, node["f"]] <= node["t"]
        low, high = node["sons"]
        return self.estimate_tree(low, rows[left]) + self.estimate_tree(high, rows[~left])

    def redistribute(self, node, rows):
        node["rows"] = rows
        if "sons" in node:
            left = self.X[rows, node["f"]] <= node["t"]
            self.redistribute(node["sons"][0], rows[left])
            self.redistribute(node["sons"][1], rows[~left])

    def prune(self, node):
        if "sons" not in node:
            return node
        node["sons"] = [self.prune(son) for son in node["sons"]]
        weights = [self.w[son["rows"]].sum() for son in node["sons"]]
        branch = node["sons"][1 if weights[1] >= weights[0] - 1e-6 else 0]
        as_branch = self.estimate_tree(branch, node["rows"])
        as_leaf, as_tree = self.estimate(node["rows"]), self.estimate_tree(node)
        if as_leaf <= as_tree + 0.1 and as_leaf <= as_branch + 0.1:
            del node["sons"]
        elif as_branch <= as_tree + 0.1:
            self.n_raised += 1
            self.redistribute(branch, node["rows"])
            return self.prune(branch)
        return node

    def flat(self, node):
        """Nodes in preorder as (feature, threshold, counts)."""
        here = (node.get("f", -2), node["t"], self.counts(node["rows"])) if "sons" in node else (
            -2, -2.0, self.counts(node["rows"]))  # fmt: skip
        return [here, *(x for son in node.get("sons", ()) for x in self.flat(son))]


def random_problem(seed):
    """Data of every kind: continuous, tied, negative, sparse and binary columns, weights."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(20, 160)), int(rng.integers(2, 5))
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(-3, 4, n),
            rng.integers(0, 5, n) * (rng.random(n) < 0.4),
            -rng.integers(0, 3, n).astype(float),
            (rng.random((n, 4)) < [0.1, 0.3, 0.5, 0.7]).astype(float),
        ]
    ).astype(float)
    score = X[:, 0] + X[:, 1] * X[:, 5] + 2 * X[:, 6] + rng.normal(scale=1.5, size=n)
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    weights = (np.ones(n), rng.integers(1, 4, n).astype(float), rng.uniform(0.3, 3, n))
    return X, y, weights[seed % 3], n_classes


@pytest.mark.parametrize("nominal", [None, "binary"])
def test_trees_equal_the_plain_transcription(nominal):
    n_raised, n_nodes = 0, 0
    for seed in range(24):
        X, y, w, n_classes = random_problem(seed)
        oracle = Oracle((4, 5, 6, 7) if nominal else (), n_classes)
        expected = oracle.flat(oracle.fit(X, y, w))
        tree = C45TreeClassifier(nominal_features=nominal).fit(X, y, w)
        assert tree.tree_.feature.tolist() == [node[0] for node in expected], seed
        np.testing.assert_allclose(tree.tree_.threshold, [node[1] for node in expected])
        np.testing.assert_allclose(tree.tree_.value, [node[2] for node in expected], atol=1e-9)
        n_raised += oracle.n_raised
        n_nodes += len(expected)
    assert n_nodes > 300  # the trees are no stumps
    assert n_raised > 5  # and raising does happen


# --- input kinds -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_sparse_equals_dense(seed):
    X, y, w, _ = random_problem(seed)
    dense = C45TreeClassifier().fit(X, y, w)
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix):
        sparse = C45TreeClassifier().fit(kind(X), y, w)
        assert_same_tree(dense, sparse)
        np.testing.assert_array_equal(dense.predict_proba(X), sparse.predict_proba(kind(X)))


def test_unsorted_duplicate_and_stored_zero_entries():
    X, y, _, _ = random_problem(0)
    coo = sp.coo_array(X)
    order = np.random.default_rng(0).permutation(coo.nnz)
    rows, cols = (np.concatenate([c[order], c[order][:50], [0]]) for c in coo.coords)
    values = np.concatenate([coo.data[order], np.zeros(51)])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
    by_row = np.argsort(rows, kind="stable")
    messy = sp.csr_array((values[by_row], cols[by_row], indptr), shape=X.shape)
    before = messy.data.copy(), messy.indices.copy()
    assert not messy.has_canonical_format
    tree = C45TreeClassifier().fit(messy, y)
    assert_same_tree(tree, C45TreeClassifier().fit(X, y))
    np.testing.assert_array_equal(tree.predict(messy), tree.predict(X))
    np.testing.assert_array_equal(messy.data, before[0])
    np.testing.assert_array_equal(messy.indices, before[1])


@pytest.mark.parametrize("seed", [1, 4, 7])
def test_weights_are_repetitions(seed):
    X, y, w, _ = random_problem(seed)
    w[::5] = 0
    assert (w == np.rint(w)).all()
    repeated = C45TreeClassifier().fit(np.repeat(X, w.astype(int), 0), np.repeat(y, w.astype(int)))
    assert_same_tree(C45TreeClassifier().fit(X, y, w), repeated)
    # The same weights in a place where the table of logarithms is not used.
    assert_same_tree(C45TreeClassifier().fit(X, y, w + 1e-12 * (w > 0)), repeated)


def test_subset_of_rows_is_a_zero_weight():
    X, y, _, _ = random_problem(2)
    chosen = np.random.default_rng(0).random(len(y)) < 0.6
    chosen[[np.flatnonzero(y == c)[0] for c in np.unique(y)]] = True
    matrix = PresortedMatrix.from_matrix(X)
    for given in (matrix, PresortedMatrix.from_matrix(sp.csr_array(X))):
        part = C45TreeClassifier()._fit_presorted(given, y, chosen.astype(float))
        assert_same_tree(part, C45TreeClassifier().fit(X[chosen], y[chosen]))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_columns_added_to_a_presorted_matrix(kind):
    X, y, _, _ = random_problem(5)
    matrix = PresortedMatrix.from_matrix(kind(X[:, :3]))
    assert not matrix.binary.any()
    wider = add_columns(matrix, X[:, 3:])
    assert wider.binary.tolist() == [False] * 4 + [True] * 4
    assert_same_tree(C45TreeClassifier()._fit_presorted(wider, y), C45TreeClassifier().fit(X, y))
    assert matrix.shape == (len(X), 3)


def test_single_class():
    tree = C45TreeClassifier().fit([[1.0], [2.0], [3.0]], ["a", "a", "a"])
    assert tree.predict([[5.0]]).tolist() == ["a"]
    assert tree.predict_proba([[5.0]]).tolist() == [[1.0]]
    assert (tree.get_depth(), tree.get_n_leaves()) == (0, 1)
    assert tree.export_text() == ": a (3)"


def test_one_sample_and_empty_matrix_columns():
    assert C45TreeClassifier().fit([[0.0, 0.0]], [1]).predict([[3.0, 4.0]]).tolist() == [1]
    zeros = C45TreeClassifier(nominal_features="binary").fit(sp.csr_array((6, 3)), [0, 1] * 3)
    assert zeros.predict_proba(sp.csr_array((2, 3))).tolist() == [[0.5, 0.5]] * 2


def test_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5)).round(2)
    y = (X[:, 0] > 0) * 100 + np.floor(2 * np.clip(X[:, 1], -1.99, 1.99)).astype(int) * 10
    tree = C45TreeClassifier().fit(X, y)
    assert (tree.predict(X) == y).mean() > 0.97
    oracle = Oracle(n_classes=len(np.unique(y)))
    expected = oracle.flat(oracle.fit(X, np.unique(y, return_inverse=True)[1], np.ones(900)))
    assert tree.tree_.feature.tolist() == [node[0] for node in expected]


def test_deep_tree():
    # Every split takes two samples off one end: hundreds of levels.
    n = 500
    X = np.tril(np.ones((n // 2, n // 2)))[np.arange(n) // 2]
    y = np.arange(n) // 2 % 2
    tree = C45TreeClassifier(nominal_features="binary", pruning=False)
    assert tree.fit(X, y).get_depth() > 100
    assert tree.score(X, y) == 1.0
    assert C45TreeClassifier(nominal_features="binary").fit(sp.csr_array(X), y).get_depth() >= 0


def test_probabilities_are_shares_in_the_leaf():
    tree = C45TreeClassifier(pruning=False).fit(
        [[0.0]] * 5 + [[1.0]] * 5, [0, 0, 0, 0, 1, 1, 1, 1, 1, 2], [1, 1, 1, 1, 2] + [1] * 5
    )
    np.testing.assert_allclose(
        tree.predict_proba([[0.0], [1.0]]), [[4 / 6, 2 / 6, 0], [0, 4 / 5, 1 / 5]]
    )


def test_values_closer_than_the_resolution_are_one():
    X = np.arange(10.0)[:, None] * 1e-6
    y = np.arange(10) > 4
    with pytest.warns(UserWarning, match=r"value_resolution=1e-05 .* set value_resolution=0"):
        assert C45TreeClassifier().fit(X, y).get_n_leaves() == 1
    fine = C45TreeClassifier(value_resolution=0).fit(X, y)
    assert fine.predict(X).tolist() == y.tolist()
    X = np.linspace(1.0, 1.7, 10)[:, None] * 1e308  # midpoints of such values overflow if summed
    assert C45TreeClassifier().fit(X, y).predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_columns_that_the_resolution_merges_are_named(form):
    X = np.array([[1e-6, -1e-6, 0, 2e-5], [2e-6, 2e-5, 0, 2e-5], [0, 3e-6, 0, 0]])
    with pytest.warns(UserWarning, match=r"column 0 of X \(1 of 1"):
        BinaryRelevanceClassifier().fit(form(X), [[0], [1], [1]])
    with pytest.warns(UserWarning, match=r"column 0 of X \(1 of 3"):
        C45TreeClassifier().fit(form(X * [1, 0.1, 1, 0.1]), [0, 1, 1])


def test_neighbouring_floats_are_split():
    low, high = 1.0, np.nextafter(1.0, 2.0)
    tree = C45TreeClassifier(value_resolution=0).fit([[low]] * 3 + [[high]] * 3, [0] * 3 + [1] * 3)
    assert tree.predict([[low], [high]]).tolist() == [0, 1]


# --- interface ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"confidence": 0.6}, "confidence"),
        ({"confidence": 0}, "confidence"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"value_resolution": -1.0}, "value_resolution"),
        ({"nominal_features": "all"}, "nominal_features"),
        ({"nominal_features": [0]}, "nominal_features"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        C45TreeClassifier(**parameters).fit([[0, 0], [1, 1], [1, 2]], [0, 1, 1])


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        C45TreeClassifier().fit([[0.0], [np.nan]], [0, 1])
    with pytest.raises(ValueError, match="sample_weight must hold finite numbers of at least 0"):
        C45TreeClassifier().fit([[0.0], [1.0]], [0, 1], [1, -1])
    with pytest.raises(ValueError, match="and not only zeros"):
        C45TreeClassifier().fit([[0.0], [1.0]], [0, 1], [0, 0])
    tree = C45TreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="2 names, but the tree was fitted on 1 features"):
        tree.export_text(["a", "b"])


def test_weights_too_small_for_any_split_are_reported():
    X, y = np.arange(20.0)[:, None], np.arange(20) > 9
    with pytest.warns(UserWarning, match="scale them to sum to the number of samples"):
        C45TreeClassifier().fit(X, y, np.full(20, 0.05))


def test_nominal_columns_need_fewer_samples_on_a_side():
    # Two of sixty samples stand apart: enough for a nominal column, but a numeric one needs
    # a tenth of the mean class weight, three, on each side.
    X, y = np.zeros((60, 1)), np.arange(60) < 20
    X[:2] = 1
    assert C45TreeClassifier(pruning=False).fit(X, y).get_n_leaves() == 1
    nominal = C45TreeClassifier(pruning=False, nominal_features="binary")
    assert nominal.fit(X, y).get_n_leaves() == 2


def test_missing_numba_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ImportError, match=r"pip install 'labelkin\[tree\]'"):
        C45TreeClassifier().fit([[0.0], [1.0]], [0, 1])


def test_pickle_threads_and_read_only_arrays():
    X, y, w, _ = random_problem(6)
    for array in (X, y, w):
        array.flags.writeable = False
    tree = C45TreeClassifier().fit(X, y, w)
    assert_same_tree(tree, pickle.loads(pickle.dumps(tree)))
    matrix = PresortedMatrix.from_matrix(X)
    with ThreadPoolExecutor(4) as pool:
        for other in pool.map(
            lambda _: C45TreeClassifier()._fit_presorted(matrix, y, w), range(16)
        ):
            assert_same_tree(tree, other)


# --- Mulan's binary relevance with J48 ------------------------------------------------------


@needs_reference
@pytest.mark.parametrize("name", ["genbase", "medical", "yeast", "scene"])
def test_binary_relevance_equals_mulan(name):
    reference = json.loads(REFERENCE.read_text())[name]["BR"]["HammingLoss"]
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as z:
        X = sp.csr_array((z["X_data"], z["X_indices"], z["X_indptr"]), shape=tuple(z["X_shape"]))
        Y = z["Y"].astype(int)
    folds = np.array_split(np.random.default_rng(0).permutation(len(Y)), 5)
    for fold, expected in list(zip(folds, reference, strict=True))[: 2 if name == "genbase" else 1]:
        train = np.setdiff1d(np.arange(len(Y)), fold)
        matrix, wrong = PresortedMatrix.from_matrix(X[train]), 0
        for labels in Y.T:
            tree = C45TreeClassifier(nominal_features="binary")
            tree._fit_presorted(matrix, labels[train])
            # A leaf with as many positives as negatives is positive there.
            positive = tree.predict_proba(X[fold])[:, -1] >= 0.5
            predicted = positive if len(tree.classes_) == 2 else tree.classes_[0]
            wrong += np.sum(predicted != labels[fold])
        assert wrong / Y[fold].size == pytest.approx(expected, abs=1e-9)
