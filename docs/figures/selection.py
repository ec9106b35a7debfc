"""The committed curves of benchmarks/selection.py."""

from measured import BENCHMARKS, selection_curves

from figures._common import BLUE, GREEN, GREY, ORANGE, new_figure

READS = (BENCHMARKS,)

STYLES = {
    "constraints": ("SelectByConstraints", BLUE, "-"),
    "mutual information": ("mutual information", GREEN, "--"),
    "chi-square": ("chi-square", ORANGE, "-."),
    "random": ("random", GREY, ":"),
}


def draw():
    """Draw average precision of ML-kNN against the share of features kept."""
    curves = selection_curves()
    datasets = [dataset for dataset, metric in curves if metric == "Average precision"]
    figure = new_figure(7.4, 4.6)
    for axes, dataset in zip(figure.subplots(2, 2, sharex=True).flat, datasets, strict=True):
        for ranking, (kept, values) in curves[dataset, "Average precision"].items():
            title, colour, style = STYLES[ranking]
            axes.plot(kept, values, color=colour, linestyle=style, label=title, linewidth=1.6)
        axes.set_title(f"{dataset}: average precision, %")
        axes.set(xticks=[5, 20, 40, 60, 80, 100])
        axes.grid(alpha=0.25, linewidth=0.5)
    for axes in figure.axes[2:]:
        axes.set_xlabel("features kept, %")
    handles, titles = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside lower center", ncols=3, frameon=False)
    return figure
