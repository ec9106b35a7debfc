"""The README's Python snippets work when pasted."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippet(snippet, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})
    if "evaluate" in snippet:
        assert "average_precision" in capsys.readouterr().out


def test_the_methods_table_names_every_estimator():
    import labelkin

    text = README.read_text(encoding="utf-8")
    missing = [name for name in labelkin.__all__ if f"`{name}`" not in text]
    assert not missing
