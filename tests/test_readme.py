"""The README's Python snippets work when pasted."""

import re
import shlex
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_snippets_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pasted = {}
    for snippet in SNIPPETS:
        exec(compile(snippet, "README.md", "exec"), pasted)
    out = capsys.readouterr().out
    assert "average_precision" in out
    assert "votes" in out


def test_from_a_csv_to_predictions(tmp_path, monkeypatch):
    from labelkin.cli import main

    monkeypatch.chdir(tmp_path)
    plots = ["a widow weeps", "a clown falls", "a thief runs", "a clown weeps", "a thief falls"]
    tags = ["1,0,0", "0,1,0", "0,0,1", "1,1,0", "0,1,1"]
    rows = [f"{p},{t}" for p, t in zip(plots * 8, tags * 8, strict=True)]
    Path("movies.csv").write_text("\n".join(["plot,drama,comedy,crime", *rows]))
    Path("new.csv").write_text("plot\na thief weeps\na clown runs\n")
    text = README.read_text(encoding="utf-8")
    commands = re.findall(
        r"^labelkin ((?:evaluate|fit|predict|export) .*?)(?:  +#.*)?$", text, re.M
    )
    assert [c.split()[0] for c in commands] == ["evaluate", "fit", "predict"]
    for command in commands:
        assert main(shlex.split(command)) == 0
    lines = Path("predictions.csv").read_text().splitlines()
    assert len(lines) == 3
    assert "drama" in lines[0]


def test_the_methods_table_names_every_estimator():
    import labelkin

    text = README.read_text(encoding="utf-8")
    missing = [name for name in labelkin.__all__ if f"`{name}`" not in text]
    assert not missing
