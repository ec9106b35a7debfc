"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (id) => document.getElementById(id);
  const data = JSON.parse(one("data").textContent);
  const last = data.labels.length; // the position of all labels together
  const curves = [...data.labels, data.all];

  // ------------------------------------------------------------------ thresholds
  // Each label's position in the list of thresholds, at first the nearest to the one evaluated.
  function nearest(value) {
    const gaps = data.thresholds.map((x) => Math.abs(x - (value ?? 0.5)));
    return gaps.indexOf(Math.min(...gaps));
  }
  const evaluated = data.labels.map((label) => nearest(label.threshold));
  const places = [...evaluated];
  const usual = new Set(evaluated).size === 1 ? evaluated[0] : nearest(0.5);
  let shared = usual; // where the slider of all labels stands
  let chosen = 0;

  function figures(hits, wrong, rows) {
    const predicted = hits + wrong;
    return {
      hits, wrong, missed: rows - hits,
      precision: predicted ? hits / predicted : null,
      recall: rows ? hits / rows : null,
      f1: rows + predicted ? (2 * hits) / (rows + predicted) : null,
    };
  }
  const at = (curve, place) => figures(curve.hits[place], curve.wrong[place], curve.rows);
  function total() {
    let { hits, wrong, rows } = data.others; // labels that are not shown
    data.labels.forEach((label, i) => {
      hits += label.hits[places[i]];
      wrong += label.wrong[places[i]];
      rows += label.rows;
    });
    return figures(hits, wrong, rows);
  }

  const percent = (value) => (value === null ? "–" : (100 * value).toFixed(1));
  const cut = (place) => {
    const value = data.thresholds[place];
    return value === Math.round(100 * value) / 100 ? value.toFixed(2) : String(+value.toPrecision(3));
  };
  const quote = (text) => (/^[\w.,:@%+/=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

  // -------------------------------------------------------------------- drawings
  const LEFT = 44, RIGHT = 388, TOP = 12, BOTTOM = 258;
  const x = (value) => LEFT + (RIGHT - LEFT) * value;
  const y = (value) => BOTTOM - (BOTTOM - TOP) * value;

  function add(svg, name, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    svg.append(element);
    return element;
  }

  function axes(svg, across, up) {
    svg.replaceChildren();
    for (const value of [0, 0.25, 0.5, 0.75, 1]) {
      add(svg, "line", { class: "grid", x1: LEFT, x2: RIGHT, y1: y(value), y2: y(value) });
      add(svg, "text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, 100 * value);
      add(svg, "text", { x: x(value), y: BOTTOM + 17, "text-anchor": "middle" }, 100 * value);
    }
    add(svg, "text", { x: (LEFT + RIGHT) / 2, y: BOTTOM + 36, "text-anchor": "middle" }, across);
    add(svg, "text", {
      x: 0, y: 0, "text-anchor": "middle",
      transform: `translate(12 ${(TOP + BOTTOM) / 2}) rotate(-90)`,
    }, up);
  }

  function drawPrecisionRecall(curve, now) {
    const svg = one("pr");
    axes(svg, "recall, %", "precision, %");
    const points = data.thresholds
      .map((_, place) => at(curve, place))
      .filter((figure) => figure.hits)
      .map((figure) => `${x(figure.recall)},${y(figure.precision)}`);
    add(svg, "polyline", { class: "curve", points: points.join(" ") });
    if (now.precision !== null && now.recall !== null)
      add(svg, "circle", { class: "now", cx: x(now.recall), cy: y(now.precision), r: 7 });
  }

  // Wilson's interval of a share.
  function interval(positives, rows) {
    const z = 1.96, p = positives / rows, d = 1 + (z * z) / rows;
    const middle = (p + (z * z) / (2 * rows)) / d;
    const half = (z / d) * Math.sqrt((p * (1 - p)) / rows + (z * z) / (4 * rows * rows));
    return [Math.max(middle - half, 0), Math.min(middle + half, 1)];
  }

  function drawCalibration(curve) {
    one("calibration-figure").hidden = !data.are_probabilities;
    const svg = one("calibration");
    axes(svg, "predicted probability, %", "rows that have it, %");
    add(svg, "line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) });
    const most = Math.max(...curve.bins.map((bin) => bin[2]), 1);
    for (const [mean, positives, rows] of curve.bins) {
      const place = x(mean / 1000), [low, high] = interval(positives, rows);
      add(svg, "line", { class: "range", x1: place, x2: place, y1: y(low), y2: y(high) });
      const dot = add(svg, "circle", {
        cx: place, cy: y(positives / rows), r: (3 + 5 * Math.sqrt(rows / most)).toFixed(1),
      });
      add(dot, "title", {}, `${positives} of ${rows} rows`);
    }
  }

  // ---------------------------------------------------------------------- the tool
  const picker = one("label"), slider = one("slider");

  function shareOf(id, value, before) {
    const place = one(id);
    place.textContent = percent(value);
    if (value === null || before === null || percent(value) === percent(before)) return;
    const change = 100 * (value - before);
    const small = document.createElement("small");
    small.textContent = ` ${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(1)}`;
    place.append(small);
  }

  function show() {
    const curve = curves[chosen];
    const place = chosen === last ? shared : places[chosen];
    const now = at(curve, place);
    const before = at(curve, chosen === last ? usual : evaluated[chosen]);
    slider.value = place;
    slider.setAttribute("aria-valuetext", cut(place));
    one("cut").textContent = cut(place);
    for (const key of ["precision", "recall", "f1"]) shareOf(key, now[key], before[key]);
    for (const key of ["hits", "missed", "wrong"]) one(key).textContent = now[key].toLocaleString("en");
    drawPrecisionRecall(curve, now);
    drawCalibration(curve);
    const moved = data.labels.filter((_, i) => places[i] !== evaluated[i]);
    const together = moved.length === last && new Set(places).size === 1;
    const sum = together ? at(data.all, places[0]) : total();
    for (const key of ["precision", "recall", "f1"]) one(`micro-${key}`).textContent = percent(sum[key]);
    one("options").textContent = together
      ? `--threshold ${cut(places[0])}`
      : data.labels
          .map((label, i) => [label, i])
          .filter(([, i]) => places[i] !== evaluated[i])
          .map(([label, i]) => `--threshold ${quote(`${label.option}=${cut(places[i])}`)}`)
          .join(" ");
    one("changed").hidden = one("options").hidden = moved.length === 0;
  }

  function move(place) {
    if (chosen === last) {
      shared = place;
      places.fill(place);
    } else places[chosen] = place;
    show();
  }

  function choose(position) {
    chosen = position;
    picker.value = String(position);
    for (const row of all("#label-table tbody tr")) {
      const here = Number(row.dataset.label) === position;
      row.classList.toggle("chosen", here);
      row.querySelector(".choose").setAttribute("aria-pressed", String(here));
    }
    show();
  }

  for (const [i, curve] of [[last, data.all], ...data.labels.entries()])
    picker.append(new Option(curve.name, String(i)));
  slider.max = data.thresholds.length - 1;
  slider.addEventListener("input", () => move(Number(slider.value)));
  picker.addEventListener("change", () => choose(Number(picker.value)));
  one("best-f1").addEventListener("click", () => {
    const values = data.thresholds.map((_, place) => at(curves[chosen], place).f1 ?? 0);
    move(values.indexOf(Math.max(...values)));
  });
  one("reset").addEventListener("click", () => {
    if (chosen === last) {
      shared = usual;
      evaluated.forEach((place, i) => { places[i] = place; });
      show();
    } else move(evaluated[chosen]);
  });
  for (const button of all(".choose")) {
    button.addEventListener("click", () => {
      choose(Number(button.closest("tr").dataset.label));
      one("threshold").scrollIntoView();
    });
  }
  one("tool").hidden = false;
  choose(0);

  // ------------------------------------------------------------- the table of labels
  const number = (cell) => (cell.dataset.value === undefined ? NaN : Number(cell.dataset.value));
  for (const button of all("button.sort")) {
    button.addEventListener("click", () => {
      const head = button.closest("th"), body = head.closest("table").tBodies[0];
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of head.parentNode.cells) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      body.append(...[...body.rows].sort((a, b) => {
        const [s, t] = [a.cells[head.cellIndex], b.cells[head.cellIndex]];
        if (head.cellIndex === 0) return s.textContent.localeCompare(t.textContent) * sign;
        const [v, w] = [number(s), number(t)];
        if (Number.isNaN(v) || Number.isNaN(w)) return Number.isNaN(v) - Number.isNaN(w); // gaps last
        return (v - w) * sign;
      }));
    });
  }
  one("find")?.addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    for (const row of all("#label-table tbody tr"))
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
  });
})();
