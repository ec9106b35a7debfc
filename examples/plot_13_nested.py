"""
Nested labels
=============

Labels form a tree. The predictions of a classifier that ignores the tree can contradict it; the
nearest consistent probabilities cannot, and have a smaller log loss here.
"""

# %%
# A tree of labels
# ----------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.multiclass import OneVsRestClassifier

from labelkin import HierarchyClassifier, LabelHierarchy

hierarchy = LabelHierarchy(
    {"science": ["physics", "biology"], "physics": ["optics", "mechanics"], "art": ["music"]}
)
print([hierarchy.path(name) for name in hierarchy.names])

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 10))
scores = X @ rng.normal(size=(10, len(hierarchy.names))) + 3 * rng.normal(size=(600, 7))
above, below = hierarchy.edges.T
y = (scores > 1).astype(int)
for label, ancestors in enumerate(hierarchy.ancestors().toarray()):
    y[:, label] &= y[:, ancestors].all(axis=1)  # a label needs all labels above it

# %%
# With and without the hierarchy
# ------------------------------
# A forest for each label, as binary relevance has.
forests = OneVsRestClassifier(RandomForestClassifier(random_state=0))
plain = clone(forests).fit(X[:300], y[:300])
flat = plain.predict_proba(X[300:])
model = HierarchyClassifier(forests, hierarchy)
nested = model.fit(X[:300], y[:300]).predict_proba(X[300:])


def loss(proba):
    """Return the mean log loss of the labels."""
    clipped = np.clip(proba, 0.005, 0.995)
    return np.mean([log_loss(t, p) for t, p in zip(y[300:].T, clipped.T, strict=True)])


contradictions = (flat[:, below] > flat[:, above]).any(axis=1).mean()
print(f"rows with a child above its parent: {contradictions:.0%} without the hierarchy, 0 % with")
print(f"log loss: {loss(flat):.4f} without, {loss(nested):.4f} with")
for name, sets in (("without", plain.predict(X[300:])), ("with", model.predict(X[300:]))):
    figures = hierarchy.scores(y[300:], sets)
    print(f"{name:8}", {key: round(value, 3) for key, value in figures.items()})

# %%
# A child and its parent
# ----------------------
# Points above the line contradict the hierarchy; both labels get their mean,
# unless other labels are involved.
figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for ax, proba, title in zip(axes, (flat, nested), ("forests", "projected"), strict=True):
    ax.plot(proba[:, 0], proba[:, 1], ".", alpha=0.5)
    ax.plot([0, 1], [0, 1], ":", color="gray")
    ax.set(xlabel="P(science)", title=title)
axes[0].set_ylabel("P(physics)")
plt.show()
