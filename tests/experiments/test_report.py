import re
import sys

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
for package in ("matplotlib", "scikit_posthocs", "jinja2"):
    pytest.importorskip(package, reason="needs the extra report")

from labelkin.experiments.report.page import write_report
from labelkin.experiments.report.published import MEASURES
from labelkin.experiments.run.results import StoredResults, read_results
from labelkin.experiments.run.store import Store
from support.browser import (
    js,
    open_page,
    requested_urls,
    resize,
    too_wide,
    wait_until_equal,
)
from support.html import Elements
from support.results import (
    ENVIRONMENT,
    HOSTILE,
    cells,
    full_results,
    paper_results,
)
from support.shared import build_once


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    frame = full_results()
    # One sweep of each parameter, of some metrics, is enough: figures take most of the time.
    sweeps = frame["method"].str.contains("@")
    frame.loc[sweeps, [*MEASURES][5:]] = np.nan
    again = sweeps & frame["dataset"].isin(["business", "entertainment"])
    recorded = StoredResults(frame[~again], ENVIRONMENT)
    folder = build_once(
        tmp_path_factory,
        "report",
        lambda folder: write_report(recorded, folder / "new" / "folder", sources=["mine.db"]),
    )
    return folder / "new" / "folder" / "report.html"


# ------------------------------------------------------------------------------ files


def test_everything_is_there(report):
    folder = report.parent
    tables = {path.name for path in (folder / "tables").iterdir()}
    names = [f"table3_{name}" for name in MEASURES]
    names += ["table4", "table4_corrected", "table5_medical"]
    names += ["figure1_yeast", "figure2_recall", "agreement"]
    names += ["tests_friedman", "tests_wilcoxon", "overall"]
    assert {f"{name}.{end}" for name in names for end in ("md", "csv")} <= tables
    assert "all.md" in tables
    figures = {path.name for path in (folder / "figures").iterdir()}
    names = [f"cd_{name}" for name in MEASURES]
    names += ["figure1_yeast", "table5_medical", "figure2"]
    names += ["cd_overall"]
    assert {f"{name}.{end}" for name in names for end in ("png", "svg")} <= figures
    assert {path.name for path in folder.iterdir()} == {
        "report.html", "results.csv", "summary.md", "tables", "figures",
    }  # fmt: skip
    assert (folder.stat().st_mode & 0o777) == ((folder / "tables").stat().st_mode & 0o777)


def test_results_csv_gives_the_same_report(tmp_path):
    frame = paper_results(["yeast", "NA", "01"], ["mlknn", "vpcme", HOSTILE])
    frame = frame.drop(columns=[*MEASURES][2:])  # two metrics: fewer figures
    frame.loc[3, ["status", "error"]] = ["failed", "two\nlines"]
    first = write_report(frame, tmp_path / "first")
    recorded = read_results(first.parent / "results.csv")
    assert recorded.environment == {}
    assert len(recorded.results) == len(frame)
    again = write_report(recorded, tmp_path / "again")
    assert again.read_text(encoding="utf-8") == first.read_text(encoding="utf-8")


def test_page_is_one_file_and_well_formed(report):
    page = Elements.of_file(report)
    for tag, attributes in page.tags:
        assert tag not in ("iframe", "object", "embed", "base")
        for name in ("src", "href", "xlink:href", "action"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:")), (tag, value)
    assert not re.search(r"url\((?!#)", report.read_text(encoding="utf-8"))
    assert "@import" not in report.read_text(encoding="utf-8")
    assert len(page.ids) == len(set(page.ids))
    anchors = {a["href"][1:] for tag, a in page.tags if tag == "a"}
    assert anchors <= set(page.ids)


def test_page_says_what_there_is(report):
    text = Elements.of_file(report).text
    for words in (
        "VPCME has the best average rank in average precision",
        "Wilcoxon's signed-rank test",
        "MemoryError: <b>no room</b>",
        "some <CPU> with 8 cores",
        "labelkin report mine.db --out report",
        "500 cells: 13 datasets",
    ):
        assert words in text, words


def test_what_users_wrote_is_escaped(report):
    page = Elements.of_file(report)
    images = [attributes["src"] for tag, attributes in page.tags if tag == "img"]
    assert images
    assert all(source.startswith("data:image/svg+xml;base64,") for source in images)
    assert not any(tag == "b" for tag, _ in page.tags)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert HOSTILE in page.text


# --------------------------------------------------------------------------- situations


def _all_failed():
    frame = paper_results(["yeast"], ["mlknn", "vpcme"], n_repeats=1)
    return frame.assign(status="failed", error="ValueError: no", **dict.fromkeys(MEASURES, np.nan))


def _sweep_only():
    rng = np.random.default_rng(0)
    return pd.DataFrame([r for s in (1, 10) for r in cells("medical", f"vpcme@size={s}", rng)])


def _variants_only():
    rng, methods = np.random.default_rng(0), ("vpcme@size=5", "mlknn@n_neighbors=5", "clr")
    names = [(dataset, method) for dataset in ("yeast", "scene") for method in methods]
    return pd.DataFrame([row for pair in names for row in cells(*pair, rng)])


def _components_only():
    frame = full_results()
    kept = frame["method"].isin(["vpcme", "mddm", "bagging_vpcp"])
    return frame[kept & frame["dataset"].isin(["yeast", "scene"])]


SITUATIONS = {
    "one method": (
        lambda: paper_results(["yeast", "scene"], ["vpcme"]),
        ["VPCME was run on 2 datasets, with no other method", "no other method was run"],
    ),
    "one dataset": (
        lambda: paper_results(["yeast"]),
        ["On yeast, VPCME (", "it needs at least two methods on two datasets"],
    ),
    "one cell": (
        lambda: paper_results(["yeast"], ["vpcme"], n_repeats=1, n_folds=1),
        ["VPCME was run on 1 dataset"],
    ),
    "one fold": (
        lambda: paper_results(["yeast", "scene"], n_repeats=1, n_folds=1),
        ["6 methods on 2 datasets", "over 1 fold;"],
    ),
    "no VPCME": (
        lambda: paper_results(["yeast", "scene"], ["mlknn", "iblr", "clr"]),
        ["the method they refer to was not run"],
    ),
    "users' own alone": (
        lambda: paper_results(["mine", "yours"], ["first", "second", "third"]),
        ["3 methods on 2 datasets"],
    ),
    "all failed": (_all_failed, ["There is no result to compare yet.", "ValueError: no"]),
    "sweep only": (_sweep_only, ["Table 5: VPCME on medical by S"]),
    "variants only": (
        _variants_only,
        ["3 methods on 2 datasets", "of VPCME S=5", "VPCME S=5; otherwise S = 30 members"],
    ),
    "components only": (_components_only, ["MDDM"]),
    "one metric": (
        lambda: paper_results(["yeast", "scene"]).drop(columns=[*list(MEASURES)[1:], "fit_s"]),
        ["in Hamming loss"],
    ),
    "no status": (
        lambda: paper_results(["yeast"], ["vpcme"]).drop(columns=["status", "error"]),
        ["No cell failed."],
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_whatever_was_run_there_is_a_report(name, tmp_path):
    make, words = SITUATIONS[name]
    frame = make()
    if "average_precision" in frame:  # one metric: fewer figures
        frame = frame.drop(columns=[metric for metric in MEASURES if metric != "average_precision"])
    text = Elements.of_file(write_report(frame, tmp_path)).text
    for expected in [*words, "Not recorded with these results."]:
        assert expected in text, text[:600]


def test_an_error_leaves_the_old_report_whole(tmp_path, monkeypatch):
    frame = paper_results(["yeast"], ["vpcme"])
    page = write_report(frame, tmp_path)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    monkeypatch.setattr("labelkin.experiments.report.page.render_page", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(paper_results(["scene"], ["vpcme"]), tmp_path)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    assert page.exists()


def test_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"jinja2.*labelkin\[report\]"):
        write_report(paper_results(["yeast"], ["vpcme"]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


# --------------------------------------------------------------------------- the command


def run(*words):
    pytest.importorskip("typer")
    from labelkin.cli import main

    return main(["report", *map(str, words)])


def test_command(tmp_path, capsys):
    frame = paper_results(["yeast", "scene"], ["mlknn", "vpcme"])
    frame.drop(columns=[*MEASURES][2:]).to_csv(tmp_path / "r.csv", index=False)
    assert run(tmp_path / "r.csv", "--out", tmp_path / "out", "--reference", "mlknn") == 0
    page = tmp_path / "out" / "report.html"
    assert "report.html" in capsys.readouterr().out.replace("\n", "")
    assert "wins/ties/losses of ML-kNN" in Elements.of_file(page).text


def test_command_opens_a_store(tmp_path):
    path = tmp_path / "results.db"
    rows = paper_results(["yeast"], ["vpcme"]).assign(method="mine").to_dict("records")
    with Store(path, write=True) as store:
        for _ in range(2):
            store.begin(
                started="now",
                command="labelkin reproduce table3 --seed <1>",
                environment={"cpu": "very fast"},
                facts={"settings of mine": "as the <store> says"},
            )
        store.add(rows)
    assert run(path, "--out", tmp_path) == 0
    text = Elements.of_file(tmp_path / "report.html").text
    assert "very fast" in text
    assert text.count("labelkin reproduce table3 --seed <1>") == 1
    assert "as the <store> says" in text


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.db", None, "no such file"),
        (
            "text.db",
            "hello",
            "store of results nor a file ending in .csv; for a report on a table, use",
        ),
        ("empty.csv", "", "cannot be read"),
        ("other.csv", "a,b\n1,2\n", "no column 'dataset'"),
        ("ragged.csv", "a,b\n1,2,3\n4,5,6,7\n", "cannot be read"),
    ],
)
def test_command_refuses_what_it_cannot_read(name, content, words, tmp_path, capsys):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    assert run(path, "--out", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert words in error
    assert not (tmp_path / "out").exists()


def test_command_refuses_an_unknown_reference(tmp_path, capsys):
    paper_results(["yeast"], ["mlknn"]).to_csv(tmp_path / "r.csv", index=False)
    assert run(tmp_path / "r.csv", "--out", tmp_path / "out", "--reference", "mlkn") == 2
    assert "its methods: mlknn" in capsys.readouterr().err


# --------------------------------------------------------------------------- in a browser


READY = "document.getElementById('theme')?.hidden === false"


@pytest.fixture
def page(browser, report):
    """The report, freshly opened in a wide window; no test may leave an error behind."""
    open_page(browser, report.as_uri(), READY)
    yield browser
    assert browser.get_log("browser") == []


SHOWN = """
const table = document.querySelector('[data-metric="average_precision"] table');
const seen = (e) => e.offsetParent !== null;
return {
  columns: [...table.tHead.rows[0].cells].filter(seen).map((c) => c.innerText.trim()),
  rows: [...table.tBodies[0].rows].filter(seen).map((r) => r.cells[0].innerText.trim()),
  best: [...table.querySelectorAll('tbody .best')].filter(seen).map((c) => c.dataset.method),
};
"""


def test_no_outside_request(page):
    asked = requested_urls(page, "file:")
    assert asked
    assert all(url.startswith(("file:", "data:")) for url in asked), asked


def test_sorting(page):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    table = page.find_element(By.CSS_SELECTOR, '[data-metric="average_precision"] table')
    head = table.find_element(By.CSS_SELECTOR, 'thead th[data-method="clr"]')
    button = head.find_element(By.TAG_NAME, "button")

    def values():
        found = js(
            page,
            "return [...arguments[0].tBodies[0].rows].map(r => "
            "r.querySelector('[data-method=\"clr\"]').dataset.value ?? null)",
            table,
        )
        return [None if v is None else float(v) for v in found]

    before = values()
    button.click()
    known = sorted(v for v in before if v is not None)
    gaps = [None] * before.count(None)
    assert gaps
    wait_until_equal(page, values, known + gaps)
    assert head.get_attribute("aria-sort") == "ascending"
    button.send_keys(Keys.ENTER)  # by keyboard, the other way; gaps stay last
    wait_until_equal(page, values, known[::-1] + gaps)
    assert head.get_attribute("aria-sort") == "descending"
    table.find_element(By.CSS_SELECTOR, "thead th:first-child button").click()
    wait_until_equal(page, lambda: head.get_attribute("aria-sort"), "none")
    rows = js(page, SHOWN)["rows"]
    assert rows == sorted(rows)


def test_filtering_methods_and_datasets(page):
    from selenium.webdriver.common.by import By

    before = js(page, SHOWN)
    assert before["columns"][1:4] == ["VPCME", "RAkEL (k = 3)", "IBLR-ML"]
    assert "vpcme" in before["best"]
    page.find_element(By.CSS_SELECTOR, ".filter summary").click()
    page.find_element(By.CSS_SELECTOR, '#method-filter input[value="vpcme"]').click()
    page.find_element(By.CSS_SELECTOR, '#dataset-filter input[value="yeast"]').click()
    shown = "Shown: 6 of 7 methods, 12 of 13 datasets."
    wait_until_equal(page, lambda: page.find_element(By.ID, "status").text, shown)
    after = js(page, SHOWN)
    assert after["columns"] == [c for c in before["columns"] if c != "VPCME"]
    assert after["rows"] == [r for r in before["rows"] if r != "yeast"]
    assert len(after["best"]) >= 11  # the best of those shown; one dataset has one method left
    assert "vpcme" not in after["best"]
    page.find_element(By.CSS_SELECTOR, '#method-filter [data-all=""]').click()
    wait_until_equal(page, lambda: js(page, SHOWN)["columns"], ["Dataset"])
    for part in ("#method-filter", "#dataset-filter"):
        page.find_element(By.CSS_SELECTOR, f'{part} [data-all="1"]').click()
    wait_until_equal(page, lambda: js(page, SHOWN), before)


def test_choosing_the_metric(page):
    from selenium.webdriver.common.by import By

    def metrics():
        return [
            part.get_attribute("data-metric")
            for part in page.find_elements(By.CSS_SELECTOR, ".metric")
            if part.is_displayed()
        ]

    assert metrics() == ["average_precision"]
    page.find_element(By.CSS_SELECTOR, 'input[name="metric"][value="coverage"]').click()
    wait_until_equal(page, metrics, ["coverage"])
    page.find_element(By.CSS_SELECTOR, 'input[name="metric"][value=""]').click()
    wait_until_equal(page, metrics, list(MEASURES))


def test_dark_and_light(page):
    from selenium.webdriver.common.by import By

    def colour():
        return js(page, "return getComputedStyle(document.body).backgroundColor")

    light, dark = "rgb(255, 255, 255)", "rgb(22, 24, 28)"
    assert colour() == light
    page.find_element(By.ID, "theme").click()
    wait_until_equal(page, colour, dark)
    open_page(page, page.current_url, READY, theme="dark")
    wait_until_equal(page, colour, dark)
    page.find_element(By.ID, "theme").click()
    wait_until_equal(page, colour, light)


@pytest.mark.parametrize("width", [320, 390, 768])
def test_narrow_pages_do_not_scroll_sideways(page, width):
    resize(page, width, 800)
    js(page, "document.querySelectorAll('details').forEach(d => { d.open = true; })")
    js(page, 'document.querySelector(\'input[name="metric"][value=""]\').click()')
    assert too_wide(page) == []
    assert js(page, "return document.documentElement.scrollWidth") <= width
    # Names of datasets stay whole, and in sight while the table moves.
    name = js(page, "return document.querySelector('tbody th').getBoundingClientRect().width")
    assert name > 60


def test_figures_stay_legible_on_a_narrow_page(page):
    """They keep their width and scroll in their own boxes."""
    resize(page, 390, 800)
    widths = js(
        page,
        "return [...document.querySelectorAll('.drawing')].filter(e => e.offsetParent)"
        ".map(e => [e.firstElementChild.getBoundingClientRect().width, e.clientWidth])",
    )
    assert len(widths) > 4
    assert all(inside >= outside for inside, outside in widths), widths
    assert max(inside for inside, _ in widths) > 500


def test_the_subject_comes_first_and_stays_in_sight(page):
    table = "document.querySelector('[data-metric=\"average_precision\"] table')"
    box = f"{table}.closest('.scroll')"
    # On a wide screen nothing is hidden.
    assert js(page, f"return {box}.scrollWidth <= {box}.clientWidth")
    resize(page, 390, 800)
    place = (
        f"{box}.scrollLeft = arguments[0]; return [...{table}.tBodies[0].rows[0].cells]"
        ".slice(0, 3).map(c => c.getBoundingClientRect().left)"
    )
    before, after = js(page, place, 0), js(page, place, 60)
    assert js(page, f"return {table}.tBodies[0].rows[0].cells[1].dataset.method") == "vpcme"
    assert after[:2] == before[:2]
    assert after[2] == before[2] - 60


def test_figures_tell_their_values_on_hover(page):
    titles = js(
        page,
        "return [...document.querySelectorAll('[data-metric=\"average_precision\"] tbody td')]"
        ".filter(c => c.dataset.value).map(c => c.title)",
    )
    assert titles
    assert all(re.match(r".+, .+: \d+\.\d\d±\d", title) for title in titles), titles[:3]


def test_every_control_is_reached_by_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    reached = set()
    for _ in range(40):
        page.switch_to.active_element.send_keys(Keys.TAB)
        element = js(
            page,
            "const e = document.activeElement; return [e.tagName, e.className, e.id, e.name ?? '']",
        )
        reached.add(tuple(element))
    tags = {tag for tag, *_ in reached}
    assert {"A", "BUTTON", "INPUT", "SUMMARY", "DIV"} <= tags
    assert any("sort" in name for _, name, _, _ in reached)
    assert any(name == "theme" for _, _, name, _ in reached)


def test_no_script_but_its_own_runs(page):
    """Should anything slip through the escaping, the page still refuses to run it."""
    assert js(page, "return document.querySelectorAll('img:not([src^=\"data:\"])').length") == 0
    code = (
        "const s = document.createElement('script'); s.textContent = 'window.slipped = 1';"
        "document.body.append(s); return window.slipped ?? null"
    )
    assert js(page, code) is None
    (refusal,) = page.get_log("browser")
    assert "Content Security Policy" in refusal["message"]
