"""
From a table to a service
=========================

A DataFrame with text, words, numbers and missing values; a model that is measured, explained,
saved, and used by a program without Python. The table is generated, so that nothing is downloaded.
This example needs ``labelkin[data,plot,onnx]``.
"""

# %%
# A table, as people have it
# --------------------------
# Tickets of a help desk: a message, a plan, the size of the customer's team (sometimes unknown),
# and the topics that an agent assigned, all in one column.
import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from labelkin import (
    KinEnsembleClassifier,
    MLkNNClassifier,
    MultiLabelLogisticRegression,
    TableClassifier,
)
from labelkin.metrics import evaluate, label_f1
from labelkin.model_selection import train_test_split
from labelkin.tabular import predict_frame, split_labels

PHRASES = {
    "billing": ["invoice is wrong", "charged twice", "refund my card", "discount is missing"],
    "login": ["cannot sign in", "password mail never came", "account is locked", "code rejected"],
    "mobile": ["app crashes on my phone", "tablet screen stays white", "update drains the battery"],
    "export": ["report download fails", "columns are missing", "file has broken characters"],
    "speed": ["pages load slowly", "dashboard times out", "search is slow", "uploads are stuck"],
}
CHATTER = [
    "hello",
    "please help",
    "thanks in advance",
    "since monday",
    "we are a new team",
    "again",
]
rng = np.random.default_rng(0)


def write_ticket():
    """Return one row of the table."""
    plan = rng.choice(["free", "team", "business"])
    chance = [0.05 if plan == "free" else 0.35, 0.3, 0.3, 0.25, 0.25]  # the free plan has no bills
    topics = [topic for topic, p in zip(PHRASES, chance) if rng.random() < p] or ["speed"]
    parts = [rng.choice(PHRASES[topic]) for topic in topics] + list(rng.choice(CHATTER, 3))
    words = [w for w in " ".join(rng.permutation(parts)).split() if rng.random() > 0.25]
    size = np.nan if rng.random() < 0.1 else rng.integers(1, 5) * (8 if plan == "business" else 1)
    return {"message": " ".join(words), "plan": plan, "size": size, "topics": ";".join(topics)}


tickets = pd.DataFrame([write_ticket() for _ in range(700)])
tickets.head()

# %%
# Fit
# ---
# :class:`~labelkin.TableClassifier` recognises the kind of each column and prepares it inside the
# model, so that nothing is learned from test rows. :func:`~labelkin.tabular.split_labels` turns the
# column of topics into columns of 0 and 1.
X, y = split_labels(tickets, "topics")
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

models = {
    "Kin": TableClassifier(KinEnsembleClassifier(random_state=0)),
    "logistic": TableClassifier(
        MultiLabelLogisticRegression(random_state=0),
        embedding="none",  # ONNX files cannot contain embeddings
    ),
    "ML-kNN": TableClassifier(MLkNNClassifier()),
}
for model in models.values():
    model.fit(X_train, y_train)
models["Kin"]  # a notebook shows its parameters

# %%
# Evaluate
# --------
names = ["micro_f1", "macro_f1", "subset_accuracy", "average_precision"]
figures = {
    name: evaluate(y_test, model.predict_proba(X_test), model.predict(X_test), metrics=names)
    for name, model in models.items()
}
pd.DataFrame(figures).T.round(3)

# %%
# One number hides which labels are hard:
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for i, (name, colour) in enumerate(zip(models, ("#0072B2", "#E69F00", "#8C8C8C"))):
    found = predict_frame(models[name], X_test)
    scores = [100 * label_f1(y_test[[label]], found[[label]]) for label in y]
    ax.bar(np.arange(len(scores)) + 0.27 * (i - 1), scores, 0.25, color=colour, label=name)
ax.set_xticks(range(y.shape[1]), y.columns)
ax.set(ylabel="F1 in %", ylim=(0, 135), yticks=range(0, 101, 25))
ax.legend(frameon=False, ncols=3, loc="upper center")
plt.show()

# %%
# Predict
# -------
# ``predict`` and ``predict_proba`` return arrays, as everywhere in scikit-learn.
# :func:`~labelkin.tabular.predict_frame` adds the names of the labels and the index of the rows.
new = pd.DataFrame(
    {
        "message": ["app crashes on my phone, charged twice", "dashboard is slow", "password lost"],
        "plan": ["team", "free", "business"],
        "size": [3, np.nan, 40],
    },
    index=["T-9001", "T-9002", "T-9003"],
)
predict_frame(models["logistic"], new, proba=True).round(2)

# %%
# Explain
# -------
# A linear model is explained by its weights: the words and columns that count most for each topic.
# (:doc:`/guide/explain` has explanations of single rows, for every method.)
model = models["logistic"]
features = model.pipeline_[0].get_feature_names_out()
weights = pd.DataFrame(np.asarray(model.estimator_.coef_).T, index=features, columns=y.columns)

fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for ax, label in zip(axes, ["billing", "mobile", "speed"]):
    top = weights[label].nlargest(6)[::-1]
    ax.barh(top.index, top, color="#0072B2")
    ax.set_title(label)
fig.supxlabel("weight")
plt.show()

# %%
# Save
# ----
# The file holds the preparation of the columns, too; loading it runs no code.
from labelkin.persistence import load_model, save_model

folder = Path(tempfile.mkdtemp())
save_model(model, folder / "tickets.labelkin")
again = load_model(folder / "tickets.labelkin")
print((again.predict(X_test) == model.predict(X_test)).all())

# %%
# Without Python: ONNX
# --------------------
# The exported file takes the raw columns, one input each.
from labelkin.onnx import save_onnx

save_onnx(model, folder / "tickets.onnx")
try:
    import onnxruntime
except ImportError:
    print("onnxruntime is not installed (pip install 'labelkin[onnx]').")
else:
    session = onnxruntime.InferenceSession(folder / "tickets.onnx")
    kinds = {"tensor(string)": str, "tensor(double)": float, "tensor(float)": np.float32}
    rows = {
        column.name: X_test[[column.name]].to_numpy(kinds[column.type])
        for column in session.get_inputs()
    }
    proba, labels = session.run(None, rows)
    print("names:", json.loads(session.get_modelmeta().custom_metadata_map["label_names"]))
    print(f"largest difference: {np.abs(proba - model.predict_proba(X_test)).max():.1e}")

# %%
# Serve, and the same on the command line
# ---------------------------------------
# All of this can be done without Python code. ``evaluate`` compares methods on folds and writes a
# page about the results; ``serve`` offers the model as a web page, and to programs as JSON
# (:doc:`/guide/serve`)::
#
#     labelkin evaluate tickets.csv --labels topics --model kin,logistic --report report.html
#     labelkin fit tickets.csv --labels topics --model logistic --out tickets.labelkin
#     labelkin predict tickets.labelkin new.csv --out predictions.csv
#     labelkin explain tickets.labelkin new.csv --row 1
#     labelkin export tickets.labelkin tickets.onnx
#     labelkin serve tickets.labelkin
