"""
Several rows of one person
==========================

Rows that belong together must not be both in training and in the test part. Here each of 100
persons has five rows that are more like each other than like those of others.
"""

# %%
# Rows of persons
# ---------------
import matplotlib.pyplot as plt
import numpy as np

from labelkin import MLkNNClassifier, MultiLabelLogisticRegression
from labelkin.evaluation import compare

rng = np.random.default_rng(0)
person = np.repeat(np.arange(100), 5)
habits = rng.normal(size=(100, 8))
X = habits[person] + 0.3 * rng.normal(size=(500, 8))
# What a person has depends on the habits only in part.
has = habits[:, :4] + 1.5 * rng.normal(size=(100, 4)) > 0.5
y = (has[person] ^ (rng.random((500, 4)) < 0.05)).astype(int)

# %%
# Rows at random, and whole persons
# ---------------------------------
methods = {"nearest neighbours": MLkNNClassifier(3), "logistic": MultiLabelLogisticRegression()}
random = compare(methods, X, y, metrics=["macro_f1"])
grouped = compare(methods, X, y, groups=person, metrics=["macro_f1"])
print(grouped.split_remarks[0])

# %%
# Only the second figure applies to new persons.
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for place, (name, found) in enumerate({"rows at random": random, "persons": grouped}.items()):
    means = [np.mean(found.results[method].figures["macro_f1"]) for method in methods]
    axes.bar(np.arange(2) + 0.4 * place, means, width=0.38, label=name)
    print(f"{name:15}", dict(zip(methods, np.round(means, 3).tolist(), strict=True)))
axes.set(xticks=[0.2, 1.2], xticklabels=list(methods), ylabel="macro F1")
axes.legend()
plt.show()
