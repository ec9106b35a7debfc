"""What threshold="auto" tries, and what each Θ would have given."""

from figures._common import BLUE, INK, ORANGE, new_figure, scenes
from labelkin import VPCMEClassifier
from labelkin.metrics import average_precision


def draw():
    """Draw the mean scores of the trial members, and the test scores of full ensembles."""
    X_train, X_test, Y_train, Y_test, _ = scenes()
    model = VPCMEClassifier(threshold="auto", random_state=0).fit(X_train, Y_train)
    theta, score = model.threshold_scores_["threshold"], 100 * model.threshold_scores_["score"]
    given = [
        VPCMEClassifier(threshold=float(t), random_state=0).fit(X_train, Y_train) for t in theta
    ]
    test = [100 * average_precision(Y_test, m.predict_proba(X_test)) for m in given]

    figure = new_figure(7.4, 3.0)
    left, right = figure.subplots(1, 2)
    left.plot(theta, score, color=BLUE, marker="o", markersize=4)
    left.set(xlabel="Θ", title="one trial member, out of bag, %")
    right.plot(theta, test, color=BLUE, marker="o", markersize=4)
    right.set(xlabel="Θ", title="30 members, on unseen handwriting, %")
    for axes in (left, right):
        axes.axvline(model.threshold_, color=ORANGE, linewidth=1.2)
        axes.axvline(0.6, color=INK, linewidth=0.8, linestyle=":")
        axes.set_xticks(theta, [f"{t:.2f}" for t in theta])
        axes.grid(alpha=0.25, linewidth=0.5)
    return figure
