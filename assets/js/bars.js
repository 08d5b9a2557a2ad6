// Bars by competency with their intervals, as one SVG that is updated in place. The same numbers stand in a table.
import { el, say } from "./words.js";
import { interval, points, range, NONE } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

export class Bars {
  constructor(root, tableRoot, model, w) {
    this.model = model;
    // In the order of their names; the model keeps the plan's order.
    const order = model.competencies.map((name, i) => [name, i]).sort((a, b) => a[0].localeCompare(b[0]));
    this.rows = order.map(([name, group]) => Object.assign(this.row(root, name), { group }));
    const head = el("tr", {}, ...[["col_competency", ""], ["col_n", "num"], ["col_mean", "num"], ["col_interval", "num"]]
      .map(([key, cls]) => el("th", { scope: "col", class: cls }, w[key])));
    const body = el("tbody");
    for (const row of this.rows) {
      row.cells = [0, 1, 2].map(() => el("td", { class: "num" }, NONE));
      body.append(el("tr", {}, el("th", { scope: "row" }, row.name), ...row.cells));
    }
    tableRoot.replaceChildren(el("table", {}, el("caption", { class: "sr" }, say(w, "live_bars")), el("thead", {}, head), body));
    this.update();
  }

  row(root, name) {
    const svg = shape("svg", { width: "100%", height: 14, "aria-hidden": "true", focusable: "false" });
    svg.append(shape("rect", { x: 0, y: 2, width: "100%", height: 10, rx: 2, class: "bar-back" }));
    const bar = svg.appendChild(shape("rect", { x: 0, y: 2, width: 0, height: 10, rx: 2, class: "bar-mean" }));
    const line = svg.appendChild(shape("line", { y1: 7, y2: 7, x1: 0, x2: 0, class: "bar-line" }));
    const value = el("span", { class: "num" }, NONE);
    root.append(el("div", { class: "bar-row" }, el("span", { class: "bar-name" }, name), value, svg));
    return { name, bar, line, value, seen: -1 };
  }

  update() {
    this.rows.forEach((row) => {
      const g = this.model.groups[row.group];
      if (g.version === row.seen) return;
      row.seen = g.version;
      const mean = g.n ? g.sum / g.n : null, span = interval(g.n, g.sum, g.squares);
      row.value.textContent = mean == null ? NONE : `${points(mean)}  (${g.n})`;
      row.bar.setAttribute("width", `${Math.max(0, Math.min(1, mean ?? 0)) * 100}%`);
      row.line.setAttribute("x1", `${Math.max(0, span ? span[0] : 0) * 100}%`);
      row.line.setAttribute("x2", `${Math.max(0, span ? span[1] : 0) * 100}%`);
      row.cells[0].textContent = g.n;
      row.cells[1].textContent = points(mean);
      row.cells[2].textContent = range(span);
    });
  }
}
