"""
Imbalanced labels
=================

Most labels are rare, and many classifiers never predict a rare label. Four steps help: describe the
imbalance, split with stratification, use a metric that shows the problem, and choose label sets for
that metric.
"""

# %%
# Describe the imbalance
# ----------------------
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
y = (scores > np.quantile(scores, 1 - rates, axis=0).diagonal()).astype(int)
print(describe(y, X))

# %%
# Split with stratification
# -------------------------
# The largest deviation of a label's share in one of five folds from its fair share:
for name, splitter in {
    "KFold": KFold(5, shuffle=True, random_state=0),
    "IterativeStratifiedKFold": IterativeStratifiedKFold(5, random_state=0),
}.items():
    worst = max(
        np.abs(5 * y[test].sum(axis=0) / y.sum(axis=0) - 1).max()
        for _, test in splitter.split(X, y)
    )
    print(f"{name:26} {worst:.0%}")

# %%
# Choose a metric
# ---------------
# The Hamming loss hardly changes if a rare label is never predicted; macro-F1, the mean of the F1
# of all labels, does.
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = BinaryRelevanceClassifier(LogisticRegression())
proba = model.fit(X_train, y_train).predict_proba(X_test)
watched = ["hamming_loss", "micro_f1", "macro_f1", "macro_auc"]

# %%
# Choose label sets for the metric
# --------------------------------
# `DecisionClassifier` sets the threshold of each label to the value with the best macro-F1 on
# out-of-fold scores of the training part. Thresholds of rare labels are shrunk towards a common
# one. The test part is used once, at the end. The scores, and therefore the rankings, do not
# change.
decided = {"at one half": proba > 0.5}
for decision in ("auto", "macro_f1"):
    one = DecisionClassifier(model, decision=decision, random_state=0).fit(X_train, y_train)
    decided[decision] = one.predict(X_test)
    print(f"{decision:9} thresholds {one.thresholds_.round(2)}, scores from {one.scores_from_}")

print(f"{'':14}" + "".join(f"{name:>14}" for name in decided))
found = {name: evaluate(y_test, proba, sets, metrics=watched) for name, sets in decided.items()}
for metric in watched:
    print(f"{metric:14}" + "".join(f"{found[name][metric]:14.3f}" for name in decided))

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
at = np.arange(len(rates))
left.bar(at, y.sum(axis=0), color="#8C8C8C")
left.set(title="rows with the label", xlabel="label")
styles = [("#E69F00", "///"), ("#8C8C8C", ""), ("#0072B2", "...")]
for i, (name, sets) in enumerate(decided.items()):
    colour, hatch = styles[i]
    found = f1_score(y_test, sets, average=None, zero_division=0)
    right.bar(at + 0.27 * (i - 1), found, 0.26, color=colour, hatch=hatch,
              edgecolor="white", label=name)  # fmt: skip
right.set(title="F1 by label, test part", xlabel="label")
right.legend(frameon=False)
plt.show()
