"""
Shipping a model
================

Save a fitted model in a file that runs no code when it is loaded, export it to ONNX for programs
without Python, and explain a prediction. This example needs ``labelkin[plot,onnx]``.
"""

# %%
# Fit
# ---
# The whole pipeline is saved, so it can be used with raw features.
import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from labelkin import VPCMEClassifier
from labelkin.datasets import load_digit_scenes
from labelkin.onnx import save_onnx
from labelkin.persistence import load_model, model_info, save_model

scenes = load_digit_scenes(n_samples=800, random_state=0)
train, test = scenes.split == 0, scenes.split == 1
X_test = scenes.data[test]
model = make_pipeline(MinMaxScaler(), VPCMEClassifier(n_estimators=10, random_state=0))
model.fit(scenes.data[train], scenes.target[train])
folder = Path(tempfile.mkdtemp())

# %%
# Save and load
# -------------
# The file contains arrays and names of types. A type that is neither on labelkin's list nor named
# as trusted by you is refused before anything is built.
save_model(model, folder / "scenes.labelkin", label_names=scenes.label_names, details={"by": "us"})
print(model_info(folder / "scenes.labelkin"))
again = load_model(folder / "scenes.labelkin")
print("the same predictions:", (again.predict(X_test) == model.predict(X_test)).all())

# A truncated file is refused.
whole = (folder / "scenes.labelkin").read_bytes()
(folder / "cut.labelkin").write_bytes(whole[: len(whole) // 2])
try:
    load_model(folder / "cut.labelkin")
except ValueError as error:
    print(str(error).replace(str(folder), "…"))

# %%
# Without Python
# --------------
# ONNX Runtime exists for C++, Java, JavaScript and phones. The predictions are the same.
save_onnx(model, folder / "scenes.onnx")
print(f"{(folder / 'scenes.onnx').stat().st_size / 1e6:.1f} MB")
try:
    import onnxruntime
except ImportError:
    print("onnxruntime is not installed (pip install 'labelkin[onnx]').")
else:
    session = onnxruntime.InferenceSession(folder / "scenes.onnx")
    proba, labels = session.run(None, {"X": X_test})
    print("names:", json.loads(session.get_modelmeta().custom_metadata_map["label_names"]))
    print(f"largest difference: {np.abs(proba - model.predict_proba(X_test)).max():.1e}")
    print("label sets equal:", (labels == model.predict(X_test)).all())

# %%
# Explain a prediction
# --------------------
# The explanation of a sample consists of the training images that are nearest in most members, and
# the votes.
scaler, vpcme = model[0], model[-1]
right = (model.predict(X_test) == scenes.target[test]).all(axis=1)
row = int(right.argmax())  # the first correct prediction
why = vpcme.explain(scaler.transform(X_test[[row]]))
print(why)

fig, axes = plt.subplots(2, 2, figsize=(6, 3.6), layout="constrained")
shown = [scenes.images[test][row], *scenes.images[train][why.rows[:3]]]
titles = ["query: " + ", ".join(map(str, np.flatnonzero(why.predicted)))]
titles += [
    f"neighbour: {', '.join(map(str, np.flatnonzero(have)))} (in {n} of {why.n_members} members)"
    for have, n in zip(why.row_labels[:3], why.row_measures["members"][:3])
]
for ax, image, title in zip(axes.flat, shown, titles):
    ax.imshow(image, cmap="gray_r")
    ax.set_title(title, fontsize=10)
    ax.set(xticks=[], yticks=[])
plt.show()
