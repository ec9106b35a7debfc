"""
Digit scenes: from images to label sets
=======================================

An image shows one to three handwritten digits; the labels are the digits. We learn them with
ML-kNN and with VPCME, measure both by the paper's seven metrics, and look at what is found,
missed and invented. The test images are made of other people's digits than the training images.
"""

# %%
# The data
# --------
import matplotlib.pyplot as plt
import numpy as np

from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin.datasets import describe, load_digit_scenes
from labelkin.metrics import METRICS, evaluate

scenes = load_digit_scenes(n_samples=1200, random_state=0)
print(describe(scenes.target, scenes.data, label_names=scenes.label_names))

train, test = scenes.split == 0, scenes.split == 1
X_train, Y_train = scenes.data[train], scenes.target[train]
X_test, Y_test = scenes.data[test], scenes.target[test]

# %%
# Two models, seven figures
# -------------------------
# ↓ marks metrics that should be small, ↑ those that should be large. Coverage is a number of
# steps, all others are per cent.
models = {
    "ML-kNN": MLkNNClassifier(n_neighbors=10),
    "VPCME": VPCMEClassifier(n_estimators=20, random_state=0),
}
figures = {}
for name, model in models.items():
    model.fit(X_train, Y_train)
    figures[name] = evaluate(Y_test, model.predict_proba(X_test), model.predict(X_test))

print(f"{'':20}" + "".join(f"{name:>9}" for name in models))
for metric in figures["VPCME"]:
    scale = 100 if METRICS[metric].percent else 1
    row = "".join(f"{scale * figures[name][metric]:9.2f}" for name in models)
    print(f"{METRICS[metric].title:18}{METRICS[metric].arrow} {row}")

# %%
# A look at the predictions
# -------------------------
# Under each image: what is right, what is missed (−) and what is wrong (+).
proba = models["VPCME"].predict_proba(X_test)
predicted = proba > 0.3  # VPCME says no when in doubt; a lower bar finds more

fig, axes = plt.subplots(3, 4, figsize=(8, 4.6), layout="constrained")
for row, ax in enumerate(axes.flat):
    ax.imshow(scenes.images[test][row], cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    true, said = Y_test[row].astype(bool), predicted[row]
    words = [str(d) for d in np.flatnonzero(true & said)]
    words += [f"−{d}" for d in np.flatnonzero(true & ~said)]
    words += [f"+{d}" for d in np.flatnonzero(~true & said)]
    perfect = (true == said).all()
    ax.set_xlabel(" ".join(words) or "nothing", color="#0072B2" if perfect else "#D55E00")
fig.suptitle("right · −missed · +wrong  (blue: the whole set is right)")
plt.show()

# %%
# How many members are enough?
# ----------------------------
# One fit gives the whole curve: ``staged_predict_proba`` yields after each member.
curve = [
    evaluate(Y_test, p, metrics=["average_precision"])["average_precision"]
    for p in models["VPCME"].staged_predict_proba(X_test)
]
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(range(1, len(curve) + 1), np.multiply(curve, 100), color="#0072B2", marker="o", ms=4)
ax.axhline(100 * figures["ML-kNN"]["average_precision"], color="#8C8C8C", label="ML-kNN alone")
ax.set(xlabel="members", ylabel="average precision, %")
ax.legend(frameon=False)
plt.show()
