"use strict";
(() => {
  const one = (id) => document.getElementById(id);
  const SHOWN = 200; // rows of a table
  const FIELDS = 60; // columns that a form can have
  const NUMBER = /^[-−+.,\s]*\d[\d.,\s'’]*$/; // without a unit
  let model, table; // what /schema describes; the CSV file that was read, and its predictions

  function make(name, text, options = {}) {
    const element = Object.assign(document.createElement(name), options);
    if (text !== undefined) element.textContent = text;
    return element;
  }
  // A name that may be written from right to left, apart from what stands beside it.
  function named(tag, name, beside = "", options = {}) {
    const element = make(tag, undefined, options);
    element.append(make("bdi", name), beside);
    return element;
  }
  function tell(text, failed = false) {
    one("status").textContent = text;
    one("status").classList.toggle("error", failed);
  }
  const share = (p) => (p > 0 && p < 0.005 ? "<0.01" : p < 1 && p >= 0.995 ? ">0.99" : p.toFixed(2));
  const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;

  // ------------------------------------------------------------------------ requests
  async function predict(body, type, explain = "") {
    tell("Predicting …");
    try {
      const answer = await fetch(`/predict${explain && `?explain=${explain}`}`, {
        method: "POST", body, headers: { "content-type": type },
      });
      const found = await answer.json();
      if (!answer.ok) throw new Error(found.error);
      tell(found.notes.join("\n"));
      return found;
    } catch (error) {
      tell(error instanceof TypeError ? "The model cannot be reached; is labelkin serve running?" : error.message, true);
      return null;
    }
  }

  // ---------------------------------------------------------------------- explanation
  function explanation(row) {
    const part = make("div");
    const tags = make("p");
    for (const label of row.labels) tags.append(named("span", label, "", { className: "tag" }));
    if (!row.labels.length) tags.append(make("span", "no label", { className: "none" }));
    tags.append(make("span", ` confidence ${share(row.confidence)}: the probability that the decision on the least certain label is right`, { className: "quiet" }));
    const list = make("ul", undefined, { className: "why" });
    for (const label of row.explanation.labels) {
      const item = make("li", undefined, { className: label.predicted ? "in" : "" });
      const bar = make("progress", undefined, { className: "bar", max: 1, value: label.probability });
      bar.setAttribute("aria-label", `probability of ${label.label}`);
      const parts = make("span", undefined, { className: "parts" });
      for (const added of label.added)
        parts.append(named("span", added.part, ` ${signed(added.log_odds)}`, {
          className: added.log_odds < 0 ? "part against" : "part",
        }));
      item.append(named("span", label.label, "", { className: "label" }), make("span", share(label.probability)), bar, parts);
      list.append(item);
    }
    part.append(tags, list);
    part.append(make("p", "Words and values count for (+) or against (−) a label, on the scale of log odds: +0.7 doubles the odds.", { className: "quiet" }));
    if (row.explanation.nearest.length) {
      part.append(make("p", "Most similar training rows:"));
      const alike = make("ul");
      for (const text of row.explanation.nearest) alike.append(make("li", text));
      part.append(alike);
    }
    return part;
  }

  // ----------------------------------------------------------------------- type a row
  function field(column) {
    const label = make("label", undefined, { className: "field" });
    const title = named("span", column.name, " ");
    title.append(make("small", column.unit ?? (column.kind === "text" ? "" : column.kind)));
    const input = make(column.kind === "text" ? "textarea" : "input");
    input.dataset.column = column.name;
    input.dataset.unit = column.unit === "%" ? " %" : "";  // others may be left out
    input.autocomplete = "off";
    input.dir = "auto";
    if (column.kind === "number") input.inputMode = "decimal";
    if (column.kind === "date") input.placeholder = "2025-12-31";
    label.append(title, input);
    if (column.values?.length) {
      const known = make("datalist", undefined, { id: `values-${one("fields").childElementCount}` });
      for (const value of column.values) known.append(make("option", undefined, { value }));
      input.setAttribute("list", known.id);
      label.append(known);
    }
    return label;
  }

  async function predictForm(event) {
    event.preventDefault();
    const row = {};
    for (const { value, dataset } of one("fields").querySelectorAll("[data-column]"))
      row[dataset.column] = value.trim() === "" ? null : NUMBER.test(value) ? value + dataset.unit : value;
    const isEmpty = Object.keys(row).length && Object.values(row).every((value) => value === null);
    if (isEmpty) tell("Fill in at least one field.", true);
    const found = !isEmpty && await predict(JSON.stringify({ rows: [row], explain: true }), "application/json");
    one("result").hidden = !found; // an earlier answer is not that of a refused row
    if (!found) return;
    one("one").replaceChildren(explanation(found.rows[0]));
    one("table-section").hidden = true;
    one("result").scrollIntoView({ block: "nearest" }); // on a phone it lies below the form
  }

  // ----------------------------------------------------------------------- drop a file
  async function predictFile(file) {
    if (!(await ready)) return;
    one("status").scrollIntoView({ block: "nearest" }); // the form above may be long
    if (file.size > model.limits.bytes) {
      tell(`${file.name} is larger than ${model.limits.bytes / 1e6} MB; split it, or use labelkin predict.`, true);
      return;
    }
    const content = await file.arrayBuffer();
    const found = await predict(content, "text/csv");
    one("table-section").hidden = !found;
    if (!found) return;
    const { rows, csv } = found;
    table = { content, rows, csv };
    one("table-title").textContent = `Predictions for ${file.name}`;
    one("head").replaceChildren(...["row", ...shown(), "predicted labels", "confidence"].map((name) => {
      const cell = make("th", name);
      cell.setAttribute("scope", "col");
      return cell;
    }));
    one("body").replaceChildren(...rows.slice(0, SHOWN).map(line));
    one("more").textContent = rows.length > SHOWN
      ? `The first ${SHOWN} of ${rows.length.toLocaleString("en")} rows are shown; the download has all.` : "";
    one("result").hidden = true;
    one("status").scrollIntoView(); // notes, and the table below them
  }

  // The columns by which a reader knows the rows: an identifier, the start of the text.
  const shown = () => Object.keys(table.rows[0].shown ?? {});

  function line(row) {
    const tr = make("tr", undefined, { className: "row" });
    const number = make("td", undefined, { className: "number" });
    number.append(make("button", row.row, { type: "button" }));
    const labels = make("td");
    for (const label of row.labels) labels.append(named("span", label, "", { className: "tag" }));
    if (!row.labels.length) labels.append(make("span", "none", { className: "none" }));
    const known = shown().map((name) => make("td", row.shown[name], {
      className: / /.test(row.shown[name]) ? "text" : "known",
    }));
    tr.append(number, ...known, labels, make("td", share(row.confidence), { className: "number confidence" }));
    tr.addEventListener("click", () => toggle(tr, row));
    return tr;
  }

  async function toggle(tr, row) {
    if (tr.nextElementSibling?.classList.contains("open")) {
      tr.nextElementSibling.remove();
      return;
    }
    if (!row.explanation) {
      const found = await predict(table.content, "text/csv", String(row.row));
      if (!found) return;
      row.explanation = found.rows[row.row - 1].explanation;
    }
    const open = make("tr", undefined, { className: "open" });
    const cell = make("td", undefined, { colSpan: 3 + shown().length });
    cell.append(explanation(row));
    open.append(cell);
    tr.after(open);
  }

  function download() {
    // Like the file that was read; for a spreadsheet, as the programs of the person's country do.
    const hasComma = (0.5).toLocaleString().includes(",");
    const { delimiter, decimal, encoding } = table.csv
      ?? { delimiter: hasComma ? ";" : ",", decimal: hasComma ? "," : ".", encoding: "utf-8-sig" };
    const quote = (value) => (/[",;\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const number = (value) => String(value).replace(".", decimal);
    const names = model.n_labels > model.labels.length ? [] : model.labels;
    const head = ["row", ...shown(), "predicted_labels", "confidence", ...names.map((name) => `probability_${name}`)];
    const lines = [head.map(quote).join(delimiter)];
    for (const row of table.rows) {
      const known = shown().map((name) => quote(row.shown[name]));
      const labels = quote(row.labels.join(model.separator));
      const figures = [row.confidence, ...names.map((name) => row.probabilities[name])];
      lines.push([row.row, ...known, labels, ...figures.map(number)].join(delimiter));
    }
    const link = make("a", undefined, {
      href: URL.createObjectURL(new Blob([`${encoding === "utf-8" ? "" : "\ufeff"}${lines.join("\n")}\n`], { type: "text/csv" })),
      download: "predictions.csv",
    });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  async function search() {
    const text = one("search").value;
    const found = text ? (await (await fetch(`/labels?search=${encodeURIComponent(text)}`)).json()).labels : [];
    if (text === one("search").value) one("found").textContent = text && !found.length ? "no such label" : found.join(", ");
  }

  // ------------------------------------------------------------------------- beginning
  async function begin() {
    model = await (await fetch("/schema")).json();
    one("name").textContent = model.name;
    document.title = `${model.name} · labelkin`;
    const some = model.labels.slice(0, 12).join(", ") + (model.n_labels > 12 ? ", …" : "");
    one("about").textContent = `${model.method}, ${model.n_labels.toLocaleString("en")} ${model.n_labels === 1 ? "label" : "labels"}: ${some}`;
    one("search").hidden = model.n_labels === model.labels.length;
    one("search").addEventListener("input", search);
    const columns = model.columns ?? [];
    if (columns.length && columns.length <= FIELDS) for (const column of columns) one("fields").append(field(column));
    else one("type").hidden = true;
    const listed = columns.slice(0, 20).map((column) => column.name).join(", ");
    one("needs").textContent = `Columns: ${listed}${columns.length > 20 ? ", …" : ""} (others are ignored)`;
    one("drop-section").hidden = !columns.length;
    if (!columns.length)
      tell(`This model takes lists of ${model.n_features.toLocaleString("en")} numbers, which programs send to POST /predict.`);
    one("main").hidden = false;
    return true;
  }
  const ready = begin().catch(() => tell("The model cannot be reached; is labelkin serve running?", true));
  one("form").addEventListener("submit", predictForm);
  one("download").addEventListener("click", download);
  one("file").addEventListener("change", () => { if (one("file").files[0]) predictFile(one("file").files[0]); });
  for (const type of ["dragover", "dragenter"])
    addEventListener(type, (event) => { event.preventDefault(); one("drop").classList.add("over"); });
  for (const type of ["dragleave", "drop"])
    addEventListener(type, (event) => { event.preventDefault(); one("drop").classList.remove("over"); });
  addEventListener("drop", (event) => { if (event.dataTransfer.files[0]) predictFile(event.dataTransfer.files[0]); });
})();
