"""The documentation is true: its snippets run, its figures exist, its versions agree."""

import ast
import importlib.util
import pkgutil
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import labelkin

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *(DOCS / "guide").glob("*.md")])
TEXTS = {page.relative_to(DOCS).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}


sys.path.insert(0, str(DOCS))
from outputs import BLOCK, run_blocks

sys.path.remove(str(DOCS))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
WITH_CODE = [name for name, text in TEXTS.items() if BLOCK.search(text)]


@pytest.mark.parametrize("page", WITH_CODE)
def test_snippets_run(page, tmp_path, monkeypatch):
    """Blocks run one after the other; a block of text right after one is what it prints."""
    monkeypatch.chdir(tmp_path)
    for block, printed in run_blocks(TEXTS[page], page):
        if block["shown"]:
            check_output(printed, block["shown"])


def check_output(printed, shown):
    """The words are the same, and the numbers to rounding, which differs between machines."""
    words = [re.sub(r"\s+", " ", NUMBER.sub("#", text)).strip() for text in (printed, shown)]
    assert words[0] == words[1]
    found, expected = (list(map(float, NUMBER.findall(text))) for text in (printed, shown))
    cure = "python docs/outputs.py writes what the pages print now"
    close = 0.1 if max(expected, default=0) <= 1 else 10  # fractions, or percentages
    assert found == pytest.approx(expected, rel=0.15, abs=close), cure


def test_the_home_and_start_pages_show_what_they_print():
    for page, least in (("index.md", 1), ("start.md", 5)):
        assert sum(bool(block["shown"]) for block in BLOCK.finditer(TEXTS[page])) >= least


def test_every_figure_is_drawn_and_used():
    named = set(re.findall(r"```\{guide-figure\} (\S+)", "".join(TEXTS.values())))
    drawn = {path.stem for path in (DOCS / "figures").glob("[a-z]*.py")}
    assert named == drawn


def test_every_figure_has_a_text_alternative():
    for name, text in TEXTS.items():
        figures = re.findall(r"```\{guide-figure\} \S+\n(.*)", text)
        assert all(line.startswith(":alt: ") for line in figures), name


def test_links_between_pages_resolve():
    for name, text in TEXTS.items():
        for target in re.findall(r"\]\(([^)#:]+\.md)", text):
            assert ((DOCS / name).parent / target).exists(), f"{name} links to {target}"


def test_the_guide_names_every_estimator():
    guide = "".join(text for name, text in TEXTS.items() if name.startswith("guide/"))
    examples = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "examples").glob("*.py"))
    missing = [name for name in labelkin.__all__ if name not in guide + examples]
    assert not missing, f"not in the user guide: {missing}"


def test_the_reference_lists_all_exports(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    import api_reference

    pages = api_reference.pages()
    text = "".join(pages.values())
    for name in labelkin.__all__:
        assert f"   {name}\n" in text
    assert "   evaluate\n" in pages["metrics"]
    methods = {n: kind for kind, n in api_reference.own_methods("labelkin.VPCMEClassifier")}
    assert {"fit", "predict", "predict_proba", "staged_predict"} <= set(methods)
    assert "get_params" not in methods
    sys.modules.pop("api_reference")


def test_the_architecture_page_names_code_that_exists():
    """Each pair of a file and a function or class, as in ``file.py``: ``Class.method``."""
    pairs = re.findall(r"`([\w/]+\.py)`: `([\w.]+)`", TEXTS["architecture.md"])
    assert len(pairs) > 20
    for file, name in pairs:
        body = ast.parse((Path(labelkin.__file__).parent / file).read_text(encoding="utf-8")).body
        for part in name.split("."):
            found = [node for node in body if getattr(node, "name", None) == part]
            assert found, f"{file} has no {name}"
            body = getattr(found[0], "body", [])


def test_the_architecture_page_lists_every_package(monkeypatch):
    pytest.importorskip("grimp")
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    import rooms

    listed = set(re.findall(r"^\| `(\w+)` \| \S", rooms.table(), re.MULTILINE))
    source = Path(labelkin.__file__).parent
    there = {path.parent.name for path in source.glob("*/__init__.py")}
    there |= {path.stem for path in source.glob("[a-z]*.py")}
    assert listed == there
    for name in ("rooms", "figures", "figures._common", "figures.architecture"):
        sys.modules.pop(name)


def test_measured_tables_are_made_from_committed_figures(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    import measured

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    marks = measured.MARK.findall("\n".join([*TEXTS.values(), readme]))
    assert set(marks) == set(measured.PARTS)
    written = "python docs/_ext/measured.py README.md"
    assert measured.fill(readme) == readme, f"The README does not quote results/; run {written}."
    for name in measured.TABLES:
        head, rule, *rows = measured.TABLES[name]().splitlines()
        widths = {line.count("|") for line in (head, rule, *rows)}
        assert rows, name
        assert len(widths) == 1, name
    data = measured.frontier()
    assert len(data.datasets) == 12
    assert data.mean_ranks()["krr"] < data.mean_ranks()["vpcme"]
    assert data.beaten("krr") > data.beaten("vpcme")
    assert set(measured.selection_curves()["yeast", "Average precision"]) >= {"constraints"}
    sys.modules.pop("measured")


def test_one_version():
    """The version stands in one place; what repeats it agrees."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/labelkin/__init__.py"
    assert metadata.version("labelkin") == labelkin.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (\S+)$", citation, re.MULTILINE)[1] == labelkin.__version__
    assert "release = labelkin.__version__" in (DOCS / "conf.py").read_text(encoding="utf-8")


def test_examples_and_benchmarks_import_what_exists():
    """They are not run by the tests, so that a removed name would be found by users only."""
    missing = []
    for folder in ("examples", "benchmarks", "docs", "tools"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("labelkin"):
                    names = [f"{node.module}:{alias.name}" for alias in node.names]
                    missing += [f"{path.name}: {name}" for name in names if not _exists(name)]
    assert not missing


def _exists(name):
    try:
        pkgutil.resolve_name(name)
    except AttributeError:  # or a module of the package
        return importlib.util.find_spec(name.replace(":", ".")) is not None
    except ModuleNotFoundError as error:
        return not error.name.startswith("labelkin")  # an extra that is not installed
    return True
