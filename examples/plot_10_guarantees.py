"""
Guaranteed recall and precision
===============================

Choose a level of recall or precision that new rows must reach, and see how many labels have to be
predicted for it.
"""

# %%
# Out-of-sample probabilities
# ---------------------------
# Kin has cross-fitted probabilities of its training rows. Every decision can be learned from them
# without fitting Kin again.
import matplotlib.pyplot as plt
import numpy as np

from labelkin import KinEnsembleClassifier
from labelkin.datasets import load_digit_scenes
from labelkin.decisions import LabelDecision

X, y = load_digit_scenes(1000, random_state=0, return_X_y=True)
model = KinEnsembleClassifier(n_projections=0, random_state=0).fit(X[:600], y[:600])
proba, y_test = model.predict_proba(X[600:]), y[600:]

# %%
# Requested and reached levels
# ----------------------------
# Recall of test rows that have a label, and precision of test rows that get one. A guaranteed
# recall holds on average; a guaranteed precision holds with a probability of 90 %, so that it is
# exceeded in most draws.


def reached(name, sets):
    """Return the mean recall or precision of the test rows."""
    right = (sets & (y_test > 0)).sum(axis=1)
    total = (y_test if name == "recall" else sets).sum(axis=1)
    return (right[total > 0] / total[total > 0]).mean()


levels = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
found = {}
for name in ("recall", "precision"):
    for level in levels:
        try:
            decision = LabelDecision(f"{name}:{level}").fit(model.oob_proba_, y[:600])
        except ValueError as error:
            print(error)
            continue
        sets = decision.apply(proba)
        found[name, level] = reached(name, sets), sets.sum(axis=1).mean()
        print(f"{name}:{level}  reached {found[name, level][0]:.3f}, "
              f"{found[name, level][1]:.2f} labels per row")  # fmt: skip

# %%
# A level costs labels
# --------------------
_, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for name, mark in (("recall", "o"), ("precision", "s")):
    asked = [level for metric, level in found if metric == name]
    left.plot(asked, [found[name, level][0] for level in asked], mark + "-", label=name)
    right.plot(asked, [found[name, level][1] for level in asked], mark + "-", label=name)
left.plot([0.5, 1], [0.5, 1], ":", color="gray")
left.set(xlabel="requested level", ylabel="level on test rows")
right.axhline(y_test.sum(axis=1).mean(), linestyle=":", color="gray")
right.set(xlabel="requested level", ylabel="labels predicted per row")
left.legend()
plt.show()
