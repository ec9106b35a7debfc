"""
Imbalanced labels
=================

Most labels are rare, and a rare label is easily never predicted. Four remedies: see it, split
for it, measure it, and decide label sets for the metric that counts.
"""

# %%
# See it
# ------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold

from labelkin import BinaryRelevanceClassifier, DecisionClassifier
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

# %%
# Decide for the metric
# ---------------------
# `DecisionClassifier` moves the threshold of each label to where macro-F1 is best, on out-of-fold
# scores of the training part. Rare labels lean on a threshold that all share. The test part is
# looked at once, at the end; the scores, and so the rankings, stay what they are.
decided = {"at one half": proba > 0.5}
for decision in ("auto", "macro_f1"):
    one = DecisionClassifier(model, decision=decision, random_state=0).fit(X_train, Y_train)
    decided[decision] = one.predict(X_test)
    print(f"{decision:9} thresholds {one.thresholds_.round(2)}, scores from {one.scores_from_}")

print(f"{'':14}" + "".join(f"{name:>14}" for name in decided))
found = {name: evaluate(Y_test, proba, said, metrics=watched) for name, said in decided.items()}
for metric in watched:
    print(f"{metric:14}" + "".join(f"{found[name][metric]:14.3f}" for name in decided))

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.3), layout="constrained")
at = np.arange(len(rates))
left.bar(at, Y.sum(axis=0), color="#8C8C8C")
left.set(title="rows with the label", xlabel="label")
styles = [("#E69F00", "///"), ("#8C8C8C", ""), ("#0072B2", "...")]
for i, (name, said) in enumerate(decided.items()):
    colour, hatch = styles[i]
    found = f1_score(Y_test, said, average=None, zero_division=0)
    right.bar(at + 0.27 * (i - 1), found, 0.26, color=colour, hatch=hatch,
              edgecolor="white", label=name)  # fmt: skip
right.set(title="F1 by label, test part", xlabel="label")
right.legend(frameon=False)
plt.show()
