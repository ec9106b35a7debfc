"""
Out-of-bag scores, and Θ chosen by them
=======================================

With a bag, VPCME estimates its own accuracy without a held-out part and without a second fit. The
same out-of-bag scores can be used to choose Θ, to calibrate the probabilities and to choose label
sets.
"""

# %%
# The out-of-bag score as an estimate
# -----------------------------------
# Three estimates for one model: on the training rows, out of bag, and on a test part. (We use a
# random test part, because the original test part was written by other people, which no estimate
# from training rows can take into account.)
import matplotlib.pyplot as plt
import numpy as np

from labelkin import VPCMEClassifier
from labelkin.datasets import load_digit_scenes
from labelkin.decisions import LabelDecision
from labelkin.metrics import average_precision, example_f1, hamming_loss
from labelkin.model_selection import train_test_split

scenes = load_digit_scenes(n_samples=900, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(
    scenes.data, scenes.target, test_size=0.4, random_state=0
)
model = VPCMEClassifier(n_estimators=30, bag=0.6, random_state=0).fit(X_train, y_train)
found = {
    "training rows": average_precision(y_train, model.predict_proba(X_train)),
    "out of bag": model.oob_score_,
    "test part": average_precision(y_test, model.predict_proba(X_test)),
}
for name, value in found.items():
    print(f"{name:14} average precision {value:.4f}")

# %%
# The estimate on training rows is far too optimistic. The out-of-bag estimate agrees with the test
# part within the uncertainty of 360 rows.

# %%
# Θ chosen by the score
# ---------------------
# One ensemble per Θ; the test part is not used for the choice.
thetas = [0.2, 0.4, 0.6, 0.8, 1.0]
models = [
    VPCMEClassifier(n_estimators=30, threshold=theta, bag=0.6, random_state=0).fit(X_train, y_train)
    for theta in thetas
]
scores = [one.oob_score_ for one in models]
for theta, score in zip(thetas, scores):
    print(f"Θ = {theta:.1f}: {score:.4f} out of bag")
best = models[int(np.argmax(scores))]
print(f"chosen: {best.threshold:.1f}")
print(f"test part: {average_precision(y_test, best.predict_proba(X_test)):.4f}")

# %%
# Calibrate, and choose label sets
# --------------------------------
# The majority vote predicts too few labels. ``calibrate=True`` corrects the probabilities, and
# `LabelDecision` chooses thresholds for a metric. Both are learned from out-of-bag predictions,
# and the test part is used only at the end.
calibrated = VPCMEClassifier(
    n_estimators=30, threshold=best.threshold, bag=0.6, calibrate=True, random_state=0
).fit(X_train, y_train)
decision = LabelDecision("f1").fit(best.oob_proba_, y_train)
sets = {
    "the vote": best.predict(X_test),
    "calibrated": calibrated.predict(X_test),
    "decided for F1": decision.apply(best.predict_proba(X_test)).astype(int),
}
for name, labels in sets.items():
    print(
        f"{name:15} {labels.sum() / y_test.sum():.2f} predicted labels per true label, "
        f"F1 {example_f1(y_test, labels):.3f}, Hamming loss {hamming_loss(y_test, labels):.3f}"
    )

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 4), layout="constrained")
left.plot(thetas, 100 * np.array(scores), color="#0072B2", marker="o")
left.axvline(best.threshold, color="#D55E00", linewidth=1)
left.set(xlabel="Θ", title="out-of-bag average precision, %")
edges = np.linspace(0, 1, 11)
for name, one, colour, mark in (
    ("mean of the members", best, "#8C8C8C", "s"),
    ("calibrated", calibrated, "#0072B2", "o"),
):
    proba = one.predict_proba(X_test).ravel()
    group = np.digitize(proba, edges[1:-1])
    mean = [proba[group == g].mean() for g in range(10) if (group == g).any()]
    true = [y_test.ravel()[group == g].mean() for g in range(10) if (group == g).any()]
    right.plot(mean, true, color=colour, marker=mark, label=name)
right.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle=":")
right.set(xlabel="predicted probability", title="share of true labels, test part")
right.legend(frameon=False)
plt.show()
