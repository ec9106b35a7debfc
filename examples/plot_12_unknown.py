"""
Labels that are known in part
=============================

Not every label of every row was measured or annotated. An empty cell does not mean that the label
does not apply. Here labels of the training rows are hidden, and two ways to learn from the
rest are compared on complete test rows.
"""

# %%
# Hide labels
# -----------
# NaN in ``y`` means unknown, and so do ``None`` and the missing value of pandas' nullable columns.
import matplotlib.pyplot as plt
import numpy as np

from labelkin import MLkNNClassifier, MultiLabelLogisticRegression
from labelkin.datasets import load_digit_scenes
from labelkin.metrics import METRICS, evaluate
from labelkin.model_selection import train_test_split

X, y = load_digit_scenes(800, random_state=0, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)


def hide(y, share):
    """Return labels of which a share, drawn at random, is unknown."""
    hidden = np.random.default_rng(0).random(y.shape) < share
    return np.where(hidden, np.nan, y)


partial = hide(y_train, 0.5)
whole_rows = int((~np.isnan(partial).any(axis=1)).sum())
print(f"{np.isnan(partial).mean():.0%} of the labels are unknown")
print(f"{whole_rows} of {len(partial)} rows are complete")

# %%
# Learn from what is known
# ------------------------
# Hardly any row is complete, so incomplete rows cannot be left out. If unknown labels are read as
# absent, the model learns from wrong labels.
ways = {
    "unknown labels as NaN": lambda y: (X_train, y),
    "unknown read as 0": lambda y: (X_train, np.nan_to_num(y)),
}
shares, metric = [0.0, 0.25, 0.5, 0.75], "micro_f1"
methods = {"logistic": MultiLabelLogisticRegression(), "nearest neighbours": MLkNNClassifier()}
figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), sharey=True, layout="constrained")
for place, (name, method) in zip(axes, methods.items(), strict=True):
    for way, data in ways.items():
        values = []
        for share in shares:
            model = method.fit(*data(hide(y_train, share)))
            labels, scores = model.predict(X_test), model.predict_proba(X_test)
            values.append(evaluate(y_test, scores, labels, metrics=[metric])[metric])
        print(f"{name:20}{way:24}", np.round(values, 3))
        place.plot(shares, values, marker="o", label=way)
    place.set(title=name, xlabel="share of unknown labels", ylabel=METRICS[metric].title)
axes[0].legend()
plt.show()

# %%
# Figures of incomplete data
# --------------------------
# Test rows may have unknown labels, too: only known labels count. F1 over all labels is about the
# same then. Average precision is not: it is easier to rank half as many labels.
model = MultiLabelLogisticRegression().fit(X_train, partial)
figures = {
    name: evaluate(labels, model.predict_proba(X_test), metrics=["average_precision", "micro_f1"])
    for name, labels in {"all test labels": y_test, "half of them": hide(y_test, 0.5)}.items()
}
for name, values in figures.items():
    print(f"{name:16}", {key: round(value, 3) for key, value in values.items()})
