"""
On a Dask cluster
=================

joblib hands scikit-learn's parallel work, a grid search or cross-validation, to a Dask cluster.
Here the cluster is two processes on this machine; an address of a real one is all that would
change. Needs ``labelkin[cluster]``; without it the script says so and runs here.
"""

# %%
import logging
from contextlib import nullcontext

import joblib
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from labelkin import MLkNNClassifier
from labelkin.datasets import load_digit_scenes
from labelkin.metrics import get_scorer
from labelkin.model_selection import IterativeStratifiedKFold

try:
    from distributed import Client, LocalCluster
except ImportError:
    Client = None
    print("distributed is not installed (pip install 'labelkin[cluster]'): running here.")

scenes = load_digit_scenes(n_samples=500, random_state=0)
search = GridSearchCV(
    MLkNNClassifier(),
    {"n_neighbors": [3, 5, 10, 20, 40]},
    scoring=get_scorer("average_precision"),
    cv=IterativeStratifiedKFold(3, random_state=0),
)


# %%
# The cluster lives as long as the block
# --------------------------------------
# ``dashboard_address=None``: nothing listens but the workers.
def cluster():
    """Return a local cluster of two processes, or nothing."""
    if Client is None:
        return nullcontext()
    return LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
    )


def client_of(started):
    """Return a client of the cluster, or nothing."""
    return nullcontext() if started is None else Client(started)


# Worker processes import this file again: what starts them stands behind this line.
if __name__ == "__main__":
    with cluster() as started, client_of(started) as client:
        with nullcontext() if client is None else joblib.parallel_config("dask"):
            search.fit(scenes.data, scenes.target)
        workers = 0 if client is None else len(client.scheduler_info()["workers"])
    print(f"{len(search.cv_results_['params']) * 3} fits on {workers or 'no'} workers")
    print("best:", search.best_params_)

    # What came back is an ordinary search.
    k = [p["n_neighbors"] for p in search.cv_results_["params"]]
    mean, spread = (100 * search.cv_results_[f"{what}_test_score"] for what in ("mean", "std"))
    fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
    ax.errorbar(np.arange(len(k)), mean, spread, fmt="o", color="#0072B2", capsize=4)
    ax.set_xticks(np.arange(len(k)), k)
    ax.set(xlabel="neighbours k", ylabel="average precision, %")
    ax.grid(alpha=0.25)
    plt.show()

# %%
# The experiments of the paper run on a cluster as well, each finished cell stored at once::
#
#     labelkin reproduce table3 --repeats 1 --cluster tcp://scheduler:8786
