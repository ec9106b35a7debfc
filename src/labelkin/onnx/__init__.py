"""Fitted models as ONNX files, which run wherever ONNX Runtime does, without Python.

``save_onnx(model, "model.onnx")`` writes the file; a program without labelkin then runs it::

    session = onnxruntime.InferenceSession("model.onnx")
    probabilities, labels = session.run(None, {"X": rows})

Needs the extra: ``pip install "labelkin[onnx]"``.
"""

from labelkin.onnx._export import save_onnx, to_onnx

__all__ = ["save_onnx", "to_onnx"]
