"""A grid search over a pipeline, drawn from its results."""

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from figures._common import BLUE, new_figure
from labelkin import MLkNNClassifier, PairwiseConstraintProjection
from labelkin.datasets import load_digit_scenes
from labelkin.metrics import get_scorer
from labelkin.model_selection import IterativeStratifiedKFold


def draw():
    """Draw mean and spread of average precision for each threshold."""
    scenes = load_digit_scenes(n_samples=300)
    model = make_pipeline(
        StandardScaler(), PairwiseConstraintProjection(random_state=0), MLkNNClassifier()
    )
    grid = {"pairwiseconstraintprojection__threshold": [0.4, 0.6, 0.8]}
    search = GridSearchCV(
        model,
        grid,
        scoring=get_scorer("average_precision"),
        cv=IterativeStratifiedKFold(3, random_state=0),
    ).fit(scenes.data, scenes.target)
    figure = new_figure(4.6, 2.4)
    axes = figure.subplots()
    found = search.cv_results_
    axes.errorbar(
        [0.4, 0.6, 0.8], 100 * found["mean_test_score"], 100 * found["std_test_score"],
        color=BLUE, marker="o", capsize=4, linestyle="none",
    )  # fmt: skip
    axes.set(xlabel="Θ", xticks=[0.4, 0.6, 0.8], xlim=(0.3, 0.9))
    axes.set_title("average precision, % (mean ± std over 3 folds)")
    axes.grid(alpha=0.25, linewidth=0.5)
    return figure
