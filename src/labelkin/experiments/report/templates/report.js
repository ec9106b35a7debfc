"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const number = (cell) => (cell.dataset.value === undefined ? NaN : Number(cell.dataset.value));

  // ------------------------------------------------------------------ sorting
  function sort(table, column, descending) {
    const body = table.tBodies[0];
    const text = (row) => row.cells[0].textContent;
    const rows = [...body.rows].sort((a, b) => {
      if (column === 0) return text(a).localeCompare(text(b)) * (descending ? -1 : 1);
      const [x, y] = [number(a.cells[column]), number(b.cells[column])];
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y); // gaps last
      return (x - y) * (descending ? -1 : 1);
    });
    body.append(...rows);
  }

  for (const button of all("button.sort")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const descending = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.cells) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sort(head.closest("table"), head.cellIndex, descending);
    });
  }

  // ---------------------------------------------------------------- filtering
  const controls = document.getElementById("controls");

  const chosen = (id) =>
    new Set(all(`#${id} input`).filter((box) => box.checked).map((box) => box.value));

  // The best of those shown is bold; values that print alike share it.
  function boldBest(row, better) {
    const shown = [...row.cells].filter((cell) => !cell.hidden && !Number.isNaN(number(cell)));
    const values = shown.map(number);
    const best = better === "high" ? Math.max(...values) : Math.min(...values);
    const print = (cell) => cell.querySelector(".figure").textContent.split("±")[0].replace("†", "");
    const leader = shown[values.indexOf(best)];
    for (const cell of row.cells) {
      const tied = shown.length > 1 && shown.includes(cell) && print(cell) === print(leader);
      cell.classList.toggle("best", tied);
    }
  }

  function filter() {
    const [methods, datasets] = [chosen("method-filter"), chosen("dataset-filter")];
    const known = new Set(all("#dataset-filter input").map((box) => box.value));
    const listed = new Set(all("#method-filter input").map((box) => box.value));
    for (const cell of all("[data-method]")) {
      const name = cell.dataset.method; // columns that are not methods are always shown
      cell.hidden = listed.has(name) && !methods.has(name);
    }
    for (const part of all("[data-dataset]")) {
      const name = part.dataset.dataset;
      part.hidden = known.has(name) && !datasets.has(name);
    }
    for (const table of all("table[data-better]"))
      for (const row of table.tBodies[0].rows) boldBest(row, table.dataset.better);
    const total = [listed.size, known.size];
    document.getElementById("status").textContent =
      methods.size < total[0] || datasets.size < total[1]
        ? `Shown: ${methods.size} of ${total[0]} methods, ${datasets.size} of ${total[1]} datasets.`
        : "";
  }

  function choose() {
    const metric = controls.elements.metric.value;
    for (const part of all(".metric")) part.hidden = metric !== "" && part.dataset.metric !== metric;
  }

  if (controls) {
    controls.hidden = false;
    controls.addEventListener("submit", (event) => event.preventDefault());
    controls.addEventListener("change", () => { filter(); choose(); });
    for (const button of all("button[data-all]", controls)) {
      button.addEventListener("click", () => {
        for (const box of all("input", button.closest("fieldset"))) box.checked = button.dataset.all !== "";
        filter();
      });
    }
    filter();
    choose();
  }

  // -------------------------------------------------------------------- theme
  const root = document.documentElement;
  const toggle = document.getElementById("theme");
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { toggle.textContent = dark() ? "Light" : "Dark"; };
  toggle.hidden = false;
  toggle.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  name();
})();
