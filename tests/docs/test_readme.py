"""The README's Python snippets work when pasted."""

import re
import shlex
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)

OUTPUT = re.search(r"```text\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with the files that the README mentions."""
    monkeypatch.chdir(tmp_path)
    plots = ["a widow weeps", "a clown falls", "a thief runs", "a clown weeps", "a thief falls"]
    tags = ["1,0,0", "0,1,0", "0,0,1", "1,1,0", "0,1,1"]
    rows = [f"{p} in part {i},{t}" for i in range(8) for p, t in zip(plots, tags, strict=True)]
    Path("movies.csv").write_text("\n".join(["plot,drama,comedy,crime", *rows]))
    Path("new.csv").write_text("plot\na thief weeps\na clown laughs\n")
    rows = ["97,1999,US,1,0", "121,,FR,0,1", ",2011,,1,1", "88,1960,US,0,0"] * 8
    Path("films.csv").write_text("\n".join(["length,year,country,drama,comedy", *rows]))


def test_snippets_one_after_the_other(capsys):
    pytest.importorskip("pandas")
    pasted = {}
    for snippet in SNIPPETS:
        assert snippet.count("\n") < 15
        exec(compile(snippet, "README.md", "exec"), pasted)
    predicted = pasted["new"].set_index("plot")
    assert predicted.columns.tolist() == ["drama", "comedy", "crime"]
    assert predicted.loc["a clown laughs"].idxmax() == "comedy"
    assert Path("predictions.csv").read_text().startswith("plot,drama,comedy,crime\n")
    films = pasted["films"]
    assert (pasted["film_model"].predict(films)[:4] == films[["drama", "comedy"]][:4]).all(
        axis=None
    )
    out = capsys.readouterr().out
    shown, printed = (dict(re.findall(r"^(\w+) +([\d.]+)$", text, re.M)) for text in (OUTPUT, out))
    assert len(shown) == 7
    for name, value in shown.items():
        assert float(printed[name]) == pytest.approx(float(value), rel=0.2, abs=0.02)
    assert "neighbours" in out


def test_from_a_csv_to_predictions():
    from labelkin.cli import main

    text = README.read_text(encoding="utf-8")
    commands = re.findall(
        r"^labelkin ((?:evaluate|fit|predict|export) .*?)(?:  +#.*)?$", text, re.M
    )
    assert [c.split()[0] for c in commands] == ["evaluate", "fit", "predict"]
    small = ["--set", "n_trees=10", "--set", "n_projections=1"]
    for command in commands:
        words = shlex.split(command)
        words += small if words[0] in ("evaluate", "fit") else []
        assert main(words) == 0
    lines = Path("predictions.csv").read_text().splitlines()
    assert len(lines) == 3
    assert "drama" in lines[0]


def test_the_methods_table_names_every_estimator():
    import labelkin
    from labelkin.metrics import METRICS

    text = README.read_text(encoding="utf-8")
    missing = [name for name in labelkin.__all__ if f"`{name}`" not in text]
    assert not missing
    assert re.findall(r"(\d+) metrics", text) == [str(len(METRICS))] * 2


def test_the_figures_of_the_tickets(capsys):
    pytest.importorskip("rich")
    from rich.console import Console

    from labelkin.cli.demo import show_tickets
    from labelkin.tabular._text import can_embed

    if not can_embed():
        pytest.skip("the text extra is not installed")
    show_tickets(Console(width=100), seed=0)
    printed = re.findall(r"right in (\d+) of 20", capsys.readouterr().out)
    text = " ".join(README.read_text(encoding="utf-8").split())
    shown = re.search(r"the first label is right for (\d+) of these in place of (\d+)", text)
    assert [*map(int, printed)] == pytest.approx([int(shown[2]), int(shown[1])], abs=1)
