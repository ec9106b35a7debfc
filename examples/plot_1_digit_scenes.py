"""
Digit scenes: from images to label sets
=======================================

An image shows one to three handwritten digits; the labels are the digits. We train Kin, VPCME and
ML-kNN, compute the paper's seven metrics, and look at some predictions. The digits in the test
images were written by other people than those in the training images.
"""

# %%
# The data
# --------
import matplotlib.pyplot as plt
import numpy as np

from labelkin import KinEnsembleClassifier, MLkNNClassifier, VPCMEClassifier
from labelkin.datasets import describe, load_digit_scenes
from labelkin.metrics import METRICS, evaluate

scenes = load_digit_scenes(n_samples=1200, random_state=0)
print(describe(scenes.target, scenes.data, label_names=scenes.label_names))

train, test = scenes.split == 0, scenes.split == 1
X_train, y_train = scenes.data[train], scenes.target[train]
X_test, y_test = scenes.data[test], scenes.target[test]

# %%
# Three models, seven metrics
# ---------------------------
# For metrics with ↓ smaller is better, for those with ↑ larger. Coverage is a number of labels;
# all others are percentages.
models = {
    "Kin": KinEnsembleClassifier(random_state=0),
    "VPCME": VPCMEClassifier(n_estimators=20, random_state=0),
    "ML-kNN": MLkNNClassifier(n_neighbors=10),
}
figures = {}
for name, model in models.items():
    model.fit(X_train, y_train)
    figures[name] = evaluate(y_test, model.predict_proba(X_test), model.predict(X_test))

print(f"{'':20}" + "".join(f"{name:>9}" for name in models))
for metric in figures["VPCME"]:
    scale = 100 if METRICS[metric].percent else 1
    row = "".join(f"{scale * figures[name][metric]:9.2f}" for name in models)
    print(f"{METRICS[metric].title:18}{METRICS[metric].arrow} {row}")

# %%
# Some predictions
# ----------------
# Below each image: digits that Kin found (✓), missed digits in parentheses and wrong ones (✗).
predicted = models["Kin"].predict(X_test)

fig, axes = plt.subplots(3, 3, figsize=(7, 4.6), layout="constrained")
for row, ax in enumerate(axes.flat):
    ax.imshow(scenes.images[test][row], cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    true, found = y_test[row].astype(bool), predicted[row].astype(bool)
    words = [f"{d}✓" for d in np.flatnonzero(true & found)]
    words += [f"({d})✗" for d in np.flatnonzero(true & ~found)]
    words += [f"{d}✗" for d in np.flatnonzero(~true & found)]
    perfect = (true == found).all()
    ax.set_xlabel("  ".join(words), color="#00795A" if perfect else "#D55E00", weight="bold")
plt.show()

# %%
# How many members are enough?
# ----------------------------
# One fit of VPCME is enough: ``staged_predict_proba`` yields the probabilities after each member.
curve = [
    evaluate(y_test, p, metrics=["average_precision"])["average_precision"]
    for p in models["VPCME"].staged_predict_proba(X_test)
]
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(range(1, len(curve) + 1), np.multiply(curve, 100), color="#0072B2", marker="o", ms=4)
ax.axhline(100 * figures["ML-kNN"]["average_precision"], color="#8C8C8C", label="ML-kNN alone")
ax.set(xlabel="members", ylabel="average precision, %")
ax.legend(frameon=False)
plt.show()
