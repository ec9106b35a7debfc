"""
Comparing methods over datasets
===============================

Is one method better than another, or is the difference due to chance? We run four methods on eight
small datasets, rank them, test the ranks, and draw a critical-difference diagram. The results have
the format that ``labelkin reproduce`` stores, so the same code works for your own runs.
"""

# %%
# Eight datasets, four methods, three folds
# -----------------------------------------
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_multilabel_classification

from labelkin.datasets import load_digit_scenes
from labelkin.experiments.report.comparison import Comparison
from labelkin.experiments.report.figures import draw_critical_difference
from labelkin.experiments.report.published import MEASURES
from labelkin.experiments.report.statistics import friedman, paired_t_test, wilcoxon_holm
from labelkin.experiments.run.results import check_results
from labelkin.methods import METHODS
from labelkin.metrics import evaluate
from labelkin.model_selection import IterativeStratifiedKFold

datasets = {
    f"generated {seed}": make_multilabel_classification(
        n_samples=200, n_features=20 + 5 * seed, n_classes=4 + seed, n_labels=2, random_state=seed
    )
    for seed in range(6)
}
for seed in (0, 1):
    scenes = load_digit_scenes(n_samples=240, random_state=seed)
    datasets[f"scenes {seed}"] = scenes.data, scenes.target

rows = []
for dataset, (X, y) in datasets.items():
    for method in ("br", "mlknn", "iblr", "cchains"):
        folds = IterativeStratifiedKFold(3, random_state=0)
        for fold, (train, test) in enumerate(folds.split(X, y)):
            model = METHODS[method].make(0).fit(X[train], y[train])
            figures = evaluate(y[test], model.predict_proba(X[test]), model.predict(X[test]))
            rows.append(
                {"dataset": dataset, "method": method, "repeat": 0, "fold": fold, **figures}
            )
results = check_results(pd.DataFrame(rows))
comparison = Comparison.of(results, reference="mlknn")
measure = MEASURES["average_precision"]
print((100 * comparison.means(measure)).round(2))

# %%
# On one dataset
# --------------
# The corrected t-test takes into account that folds share training rows. With three folds it has
# little power.
ours = comparison.values("scenes 0", "mlknn", measure)
theirs = comparison.values("scenes 0", "br", measure)
print(f"ML-kNN against BR on scenes 0: p = {paired_t_test(ours, theirs, n_folds=3):.3f}")

# %%
# Over datasets
# -------------
# Friedman's test tests whether the average ranks differ at all; Wilcoxon's test compares pairs of
# methods.
means = comparison.means(measure)
test = friedman(means)
print(test.ranks.round(2).to_string())
print(f"\nFriedman: p = {test.p:.4f}; critical difference of ranks: {test.cd:.2f}\n")
print(wilcoxon_holm(means, control="mlknn").round(4))

# %%
# In the diagram, bars join methods that do not differ significantly by Nemenyi's test.
figure = draw_critical_difference(comparison, measure)
figure.set_size_inches(5.4, 2.6)
manager = plt.figure().canvas.manager  # pass the figure to pyplot, which shows it
figure.set_canvas(manager.canvas)
manager.canvas.figure = figure
plt.show()
