"""
Imbalanced labels
=================

Most labels are rare, and a rare label is easily never predicted. Four remedies: see it, split
for it, measure it, and move the decision threshold of each label on data that were not trained on.
"""

# %%
# See it
# ------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from labelkin import BinaryRelevanceClassifier
from labelkin.datasets import describe
from labelkin.metrics import evaluate
from labelkin.model_selection import IterativeStratifiedKFold, train_test_split

rng = np.random.default_rng(0)
n, rates = 3000, np.array([0.5, 0.3, 0.2, 0.1, 0.06, 0.04, 0.03, 0.02])
X = rng.normal(size=(n, 12))
scores = X @ rng.normal(size=(12, len(rates))) + 4 * rng.normal(size=(n, len(rates)))
Y = (scores > np.quantile(scores, 1 - rates, axis=0).diagonal()).astype(int)
print(describe(Y, X))

# %%
# Split for it
# ------------
# How far the share of each label in a fold is from fair, worst of five folds:
for name, splitter in {
    "KFold": KFold(5, shuffle=True, random_state=0),
    "IterativeStratifiedKFold": IterativeStratifiedKFold(5, random_state=0),
}.items():
    worst = max(
        np.abs(5 * Y[test].sum(axis=0) / Y.sum(axis=0) - 1).max()
        for _, test in splitter.split(X, Y)
    )
    print(f"{name:26} {worst:.0%}")

# %%
# Measure it
# ----------
# Hamming loss forgives a classifier that never predicts a rare label; macro-F1, the mean over
# labels, does not.
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)
model = BinaryRelevanceClassifier(LogisticRegression())
proba = model.fit(X_train, Y_train).predict_proba(X_test)
watched = ["hamming_loss", "micro_f1", "macro_f1", "macro_auc"]
plain = evaluate(Y_test, proba, proba > 0.5, metrics=watched)

# %%
# Move the thresholds
# -------------------
# Each label gets the threshold with the best F1 on predictions made by cross-validation within the
# training part. The test part is looked at once, at the end.
inner = np.empty(Y_train.shape)
for fit, rest in IterativeStratifiedKFold(5, random_state=0).split(X_train, Y_train):
    inner[rest] = model.fit(X_train[fit], Y_train[fit]).predict_proba(X_train[rest])
grid = np.linspace(0.05, 0.95, 91)


def f1(y, said):
    """F1 of one label for many candidate predictions at once."""
    hits = (y[:, None] & said).sum(axis=0)
    return 2 * hits / (y.sum() + said.sum(axis=0))


thresholds = np.array([
    grid[f1(Y_train[:, label], inner[:, [label]] > grid).argmax()] for label in range(len(rates))
])  # fmt: skip
moved = evaluate(Y_test, proba, proba > thresholds, metrics=watched)
for metric in watched:
    print(f"{metric:14} at one half {plain[metric]:.3f}   moved {moved[metric]:.3f}")

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.3), layout="constrained")
at = np.arange(len(rates))
left.bar(at, Y.sum(axis=0), color="#8C8C8C")
left.set(title="rows with the label", xlabel="label")
for offset, (name, said, colour, hatch) in enumerate([
    ("at one half", proba > 0.5, "#E69F00", "///"), ("moved", proba > thresholds, "#0072B2", ""),
]):  # fmt: skip
    found = [f1(Y_test[:, label], said[:, [label]])[0] for label in at]
    right.bar(at + 0.4 * (offset - 0.5), found, 0.38, color=colour, hatch=hatch,
              edgecolor="white", label=name)  # fmt: skip
right.set(title="F1 by label, test part", xlabel="label")
right.legend(frameon=False)
plt.show()
