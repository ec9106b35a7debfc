"""
On a Dask cluster
=================

There are two ways to use a cluster: fit a model to rows that are on the workers, or let joblib run
the fits of a grid search there. In this example the cluster consists of two local processes; for a
real one, only the address changes. The example needs ``labelkin[cluster]``; without it, everything
runs in this process.
"""

# %%
import logging
from contextlib import nullcontext

import joblib
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin.datasets import load_digit_scenes
from labelkin.metrics import get_scorer
from labelkin.model_selection import IterativeStratifiedKFold

try:
    import dask.array as da
    from distributed import Client, LocalCluster
except ImportError:
    Client = None
    print("Dask is not installed (pip install 'labelkin[cluster]'): running locally.")

scenes = load_digit_scenes(n_samples=500, random_state=0)
X, y = scenes.data, scenes.target


# %%
# Start a cluster
# ---------------
# The cluster runs as long as the ``with`` block below. ``dashboard_address=None``: no dashboard.
def cluster():
    """Return a local cluster of two processes, or an empty context without Dask."""
    if Client is None:
        return nullcontext()
    return LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
    )


def client_of(started):
    """Return a client of the cluster, or an empty context without one."""
    return nullcontext() if started is None else Client(started)


# %%
# Rows on the workers
# -------------------
# The arrays are divided into blocks, which are on different workers. Scatter matrices are summed
# block by block, and neighbours are merged. The pairs are drawn from the seed as usual, so the
# model is the same as for data in memory. Predictions of Dask arrays are lazy.
def fit_on_workers():
    """Fit rows in blocks, and compare with a fit in memory."""
    model = VPCMEClassifier(n_estimators=2, random_state=0)
    in_memory = model.fit(X, y).predict_proba(X)
    if Client is None:
        return
    blocks = [da.from_array(array, chunks=(250, -1)) for array in (X, y)]
    lazy = model.fit(*blocks).predict_proba(blocks[0])
    print(lazy)
    print(f"largest difference: {np.abs(lazy.compute() - in_memory).max():.0e}")


# %%
# Parallel fits on the workers
# ----------------------------
# The data are in memory, and the fits of a search run on the cluster.
search = GridSearchCV(
    MLkNNClassifier(),
    {"n_neighbors": [3, 10, 30]},
    scoring=get_scorer("average_precision"),
    cv=IterativeStratifiedKFold(3, random_state=0),
)

# Worker processes import this file again, so the cluster must be started inside this block.
if __name__ == "__main__":
    with cluster() as started, client_of(started) as client:
        fit_on_workers()
        with nullcontext() if client is None else joblib.parallel_config("dask"):
            search.fit(X, y)
        workers = 0 if client is None else len(client.scheduler_info()["workers"])
    print(f"{len(search.cv_results_['params']) * 3} fits on {workers or 'no'} workers")
    print("best:", search.best_params_)

    # The result is an ordinary search.
    k = [p["n_neighbors"] for p in search.cv_results_["params"]]
    mean, spread = (100 * search.cv_results_[f"{what}_test_score"] for what in ("mean", "std"))
    fig, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    ax.errorbar(np.arange(len(k)), mean, spread, fmt="o", color="#0072B2", capsize=4)
    ax.set_xticks(np.arange(len(k)), k)
    ax.set(xlabel="neighbours k", ylabel="average precision, %")
    ax.grid(alpha=0.25)
    plt.show()

# %%
# Several machines can share the paper's experiments without Dask (:doc:`/guide/experiments`)::
#
#     labelkin reproduce table3 --repeats 5-9 --store late.db
#     labelkin report results.db late.db --out report
