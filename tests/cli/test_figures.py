"""Tables of metrics on the terminal."""

from labelkin.cli._figures import PEOPLE_METRICS, print_figures
from labelkin.metrics import METRICS


def test_methods_that_do_not_fit_are_in_several_tables(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = ["Logistic regression, all labels at once", "Kin ensemble", "ML-kNN", "VPCME"]
    runs = {
        name: {key: [0.5 + 0.01 * j, 0.6 + 0.01 * j] for key in PEOPLE_METRICS}
        for j, name in enumerate(names)
    }
    print_figures(runs, PEOPLE_METRICS, "2 folds, mean ± std")
    out = capsys.readouterr().out
    assert "…" not in out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert all(name in out for name in names)
    assert all(f"{55 + j}.00 ± 5.00" in out for j in range(4))
    # Each table names its metrics, and the meanings stand below once.
    assert out.count(f"{METRICS['micro_f1'].title} ↑") == 2
    assert out.count(f"{METRICS['micro_f1'].title}: ") == 1
