"""
On a Dask cluster
=================

Two ways to use a cluster: rows that live on its workers are fitted there, and joblib hands
parallel work, members or a grid search, to it. Here the cluster is two processes on this machine;
an address of a real one is all that would change. Needs ``labelkin[cluster]``; without it the
script says so and runs here.
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
    print("Dask is not installed (pip install 'labelkin[cluster]'): running here.")

scenes = load_digit_scenes(n_samples=500, random_state=0)
X, Y = scenes.data, scenes.target


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


# %%
# Rows on the workers
# -------------------
# The arrays are in blocks, on whichever worker has them. Scatter matrices are summed block by
# block and neighbours are merged; the pairs are drawn from the seed as always, so that the model is
# the one the same data give in memory. Predictions of Dask arrays are lazy.
def fit_on_workers():
    """Fit rows in blocks, and compare with a fit in memory."""
    model = VPCMEClassifier(n_estimators=2, random_state=0)
    here = model.fit(X, Y).predict_proba(X)
    if Client is None:
        return
    blocks = [da.from_array(array, chunks=(250, -1)) for array in (X, Y)]
    there = model.fit(*blocks).predict_proba(blocks[0])
    print(there)
    print(f"largest difference to memory: {np.abs(there.compute() - here).max():.0e}")


# %%
# Work for the workers
# --------------------
# The data are in memory, and the fits of a search go to the cluster. (So would the members of an
# ensemble, under the same ``parallel_config``.)
search = GridSearchCV(
    MLkNNClassifier(),
    {"n_neighbors": [3, 10, 30]},
    scoring=get_scorer("average_precision"),
    cv=IterativeStratifiedKFold(3, random_state=0),
)

# Worker processes import this file again: what starts them stands behind this line.
if __name__ == "__main__":
    with cluster() as started, client_of(started) as client:
        fit_on_workers()
        with nullcontext() if client is None else joblib.parallel_config("dask"):
            search.fit(X, Y)
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
