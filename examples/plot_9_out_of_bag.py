"""
Out-of-bag scores and an automatic Θ
====================================

With a bag, VPCME knows by itself how good it is: no rows are set aside, nothing is fitted twice.
The same honest scores choose Θ, calibrate the probabilities and decide the label sets.
"""

# %%
# What the out-of-bag score foretells
# -----------------------------------
# Three estimates of one model: on the training rows, out of bag, and on a test part.
# (We stratify the test part at random here: the scenes' own test part is by other hands, of
# which no training row can tell.)
import matplotlib.pyplot as plt
import numpy as np

from labelkin import VPCMEClassifier
from labelkin.datasets import load_digit_scenes
from labelkin.decisions import LabelDecision
from labelkin.metrics import average_precision, example_f1, hamming_loss
from labelkin.model_selection import train_test_split

scenes = load_digit_scenes(n_samples=900, random_state=0)
X_train, X_test, Y_train, Y_test = train_test_split(
    scenes.data, scenes.target, test_size=0.4, random_state=0
)
model = VPCMEClassifier(n_estimators=30, bag=0.6, random_state=0).fit(X_train, Y_train)
found = {
    "training rows": average_precision(Y_train, model.predict_proba(X_train)),
    "out of bag": model.oob_score_,
    "test part": average_precision(Y_test, model.predict_proba(X_test)),
}
for name, value in found.items():
    print(f"{name:14} average precision {value:.4f}")

# %%
# The training rows flatter the model. Out of bag it is within what 360 test rows can tell.

# %%
# Θ by itself
# -----------
# ``threshold="auto"`` tries the few Θ that change the pairs, each with a small ensemble, drops the
# worse half, and so on. It leaves 0.6 only for something clearly better.
auto = VPCMEClassifier(n_estimators=30, threshold="auto", bag=0.6, random_state=0)
auto.fit(X_train, Y_train)
tried = auto.threshold_scores_
for theta, score, members in zip(tried["threshold"], tried["score"], tried["n_members"]):
    print(f"Θ = {theta:.3f}: {score:.4f} out of bag, with {members} members")
print(f"chosen: {auto.threshold_:.3f}")
print(f"test part: {average_precision(Y_test, auto.predict_proba(X_test)):.4f}")

# %%
# Calibrate and decide
# --------------------
# The vote of cautious members predicts too few labels. ``calibrate=True`` repairs the
# probabilities, and `LabelDecision` chooses cuts for a metric; both learn out of bag, so the test
# part is only asked at the end.
calibrated = VPCMEClassifier(
    n_estimators=30, threshold=auto.threshold_, bag=0.6, calibrate=True, random_state=0
).fit(X_train, Y_train)
decision = LabelDecision("f1").fit(auto.oob_proba_, Y_train)
sets = {
    "the vote": auto.predict(X_test),
    "calibrated": calibrated.predict(X_test),
    "decided for F1": decision.apply(auto.predict_proba(X_test)).astype(int),
}
for name, labels in sets.items():
    print(
        f"{name:15} {labels.sum() / Y_test.sum():.2f} as many labels as there are, "
        f"F1 {example_f1(Y_test, labels):.3f}, Hamming loss {hamming_loss(Y_test, labels):.3f}"
    )

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained")
size = tried["n_members"]
dots = left.scatter(tried["threshold"], 100 * tried["score"], c=size, cmap="viridis_r", s=50)
left.axvline(auto.threshold_, color="#D55E00", linewidth=1)
left.set(xlabel="Θ", title="out-of-bag average precision, %")
fig.colorbar(dots, ax=left, label="trial members", ticks=np.unique(size))
edges = np.linspace(0, 1, 11)
for name, one, colour, mark in (
    ("mean of the members", auto, "#8C8C8C", "s"),
    ("calibrated", calibrated, "#0072B2", "o"),
):
    proba = one.predict_proba(X_test).ravel()
    group = np.digitize(proba, edges[1:-1])
    said = [proba[group == g].mean() for g in range(10) if (group == g).any()]
    true = [Y_test.ravel()[group == g].mean() for g in range(10) if (group == g).any()]
    right.plot(said, true, color=colour, marker=mark, label=name)
right.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle=":")
right.set(xlabel="probability said", title="share of labels true, test part")
right.legend(frameon=False)
plt.show()
