"""Leave-one-out in closed form, checked by leaving out; and the calibrated probabilities."""

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from figures._common import BLUE, GREY, INK, ORANGE, new_figure, scenes
from labelkin import KernelRidgeLOOClassifier
from labelkin.kernel._ridge import RIDGES, RidgeSpectrum, loo_errors
from labelkin.rows import Labels


def draw():
    """Draw the leave-one-out error against the ridge, and a reliability diagram."""
    X_train, X_test, Y_train, Y_test, _ = scenes()
    figure = new_figure(7.4, 3.0)
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    model = KernelRidgeLOOClassifier(random_state=0).fit(X_train, Y_train)
    rows = slice(0, 120)
    K = rbf_kernel(X_train[rows], gamma=1 / (2 * model.width_**2))
    spectrum = RidgeSpectrum.of_kernel(K)
    for label, colour in ((1, BLUE), (8, ORANGE)):
        y = Y_train[rows, label : label + 1]
        ridges = RIDGES[4:-4]
        errors = loo_errors(spectrum, Labels(y), ridges * spectrum.scale)[:, 0]
        left.plot(ridges, errors, color=colour, label=f"digit {label}")
        some = ridges[::4]
        refits = [refitted(K, y[:, 0], ridge * spectrum.scale) for ridge in some]
        left.scatter(some, refits, s=30, facecolor="none", edgecolor=colour, zorder=3)
    left.set(xscale="log", xlabel="ridge", title="squared leave-one-out error")
    ticks = [1e-2, 1e-1, 1, 10]
    left.set_xticks(ticks, ["0.01", "0.1", "1", "10"])
    left.minorticks_off()
    left.legend(frameon=False, loc="upper left")

    proba, truth = model.predict_proba(X_test).ravel(), Y_test.ravel()
    group = np.minimum((proba * 10).astype(int), 9)
    mean = [proba[group == g].mean() for g in range(10)]
    found = [truth[group == g].mean() for g in range(10)]
    right.plot([0, 1], [0, 1], color=GREY, linewidth=1)
    right.plot(mean, found, color=BLUE, marker="o", markersize=4)
    right.set(xlabel="predicted probability", title="share of true labels", aspect="equal")
    right.spines[:].set_color(INK)
    return figure


def refitted(K, y, ridge):
    """Return the mean squared error of every row under a model fitted without it."""
    errors = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        A = K[np.ix_(rest, rest)]
        mean = A.mean(axis=0)
        centred = A - mean - mean[:, None] + mean.mean()
        model = KernelRidge(alpha=ridge, kernel="precomputed")
        model.fit(centred, y[rest] - y[rest].mean())
        row = K[i, rest] - K[i, rest].mean() - mean + mean.mean()
        errors.append(y[i] - y[rest].mean() - model.predict(row[None])[0])
    return np.mean(np.square(errors))
