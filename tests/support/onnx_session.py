"""Exported models in ONNX Runtime."""

import onnxruntime


def open_session(exported):
    """Return a session of one thread, since further threads wait by spinning."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    content = exported if isinstance(exported, str) else exported.SerializeToString()
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def run(exported, X):
    """Return the outputs for the rows X: of a classifier, probabilities and labels."""
    return open_session(exported).run(None, {"X": X})
