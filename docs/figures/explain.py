"""One test image, VPCME's votes for it, and the nearest training images."""

import numpy as np

from figures._common import BLUE, GREY, INK, new_figure, scenes
from labelkin import VPCMEClassifier
from labelkin.datasets import load_digit_scenes


def draw():
    """Draw the image, the votes for each digit, and the six nearest training images."""
    X_train, X_test, Y_train, Y_test, images = scenes()
    data = load_digit_scenes(n_samples=800, random_state=0)
    known = data.images[data.split == 0]
    model = VPCMEClassifier(n_estimators=30, random_state=0).fit(X_train, Y_train)
    # A correct prediction close to the threshold is a better example than a clear one.
    proba = model.predict_proba(X_test)
    right = (model.predict(X_test) == Y_test).all(axis=1) & (Y_test.sum(axis=1) == 2)
    margin = np.where(right, np.abs(proba - 0.5).min(axis=1), 1)
    row = int(margin.argmin())
    why = model.explain(X_test[row])

    figure = new_figure(7.4, 3.3)
    grid = figure.add_gridspec(3, 3, width_ratios=(1.5, 1, 1))
    picture = figure.add_subplot(grid[0, 0])
    picture.imshow(images[row], cmap="gray_r")
    predicted = ", ".join(map(str, np.flatnonzero(why.predicted)))
    picture.set(xticks=[], yticks=[], title=f"predicted {predicted}")
    votes = figure.add_subplot(grid[1:, 0])
    votes.bar(range(10), why.votes, color=np.where(why.predicted, BLUE, GREY))
    votes.axhline(why.n_members / 2, color=INK, linewidth=0.8, linestyle=":")
    votes.set(xticks=range(10), xlabel="digit", title=f"votes of {why.n_members} members")
    for i in range(6):
        axes = figure.add_subplot(grid[i % 3, 1 + i // 3])
        axes.imshow(known[why.rows[i]], cmap="gray_r")
        labels = ", ".join(map(str, np.flatnonzero(why.row_labels[i])))
        axes.set(xticks=[], yticks=[])
        axes.set_title(f"{labels}  ·  in {why.row_measures['members'][i]} members", fontsize=8.5)
    return figure
