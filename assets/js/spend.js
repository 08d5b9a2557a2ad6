// Money and calls of a run: the meter, the roles, and the estimates beside what it really cost.
import { el, say } from "./words.js";
import { count, money, NONE } from "./format.js";

export class Spend {
  constructor($, w) {
    Object.assign(this, { $, w });
    this.reset();
  }

  reset() {
    Object.assign(this, { spent: null, reserved: null, cap: null, roles: [null, null], first: null, later: null, after: 0, limit: null });
  }

  facts(f) {
    this.first = f.estimate || null;
    this.cap = f.max_cost ?? null;
  }

  money([spent, reserved, cap, solver, judge]) { Object.assign(this, { spent, reserved, cap, roles: [solver, judge] }); }
  refined(after, estimate) { Object.assign(this, { after, later: estimate }); }
  connections(n) { this.limit = n; }

  draw(model) {
    const { $, w } = this;
    const full = this.cap || Math.max(this.spent || 0, 1e-9);
    $("meter-spent").style.width = `${Math.min(100, (100 * (this.spent || 0)) / full)}%`;
    $("meter-reserved").style.width = `${Math.min(100, (100 * (this.reserved || 0)) / full)}%`;
    const rows = [
      [w.spend_spent, this.spent == null ? (this.roles[0] ? w.spend_unpriced : NONE) : money(this.spent)],
      [w.spend_reserved, money(this.reserved)],
      [w.spend_cap, this.cap == null ? w.spend_none : money(this.cap)],
      ...[w.est_solver, w.est_judge].map((name, i) => [name, this.role(this.roles[i])]),
    ];
    $("spend").replaceChildren(...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", { class: "num" }, value)]));
    $("connections").textContent = this.limit == null ? "" : say(w, "live_connections", { n: this.limit });
    $("connections-help").hidden = this.limit == null;
    this.estimates(model);
  }

  role(row) {
    if (!row) return NONE;
    const [calls, , , , cost, unknown] = row;
    const parts = [cost == null ? this.w.spend_unpriced : money(cost), say(this.w, "spend_calls", { n: count(calls) })];
    if (unknown) parts.push(say(this.w, "spend_unknown", { n: unknown }));
    return parts.join(" · ");
  }

  estimates() {
    const { $, w } = this;
    $("estimate-box").hidden = !this.first;
    if (!this.first) return;
    const lines = [[w.live_estimate_first, this.first]];
    if (this.later) lines.push([say(w, "live_estimate_refined", { n: this.after }), this.later]);
    const head = el("tr", {}, el("td"), ...["est_low", "est_expected", "est_high"].map((k) => el("th", { scope: "col", class: "num" }, w[k])));
    const rows = lines.map(([name, e]) => el("tr", {}, el("th", { scope: "row" }, name), ...totals(e).map((v) => el("td", { class: "num" }, v == null ? w.est_unknown : money(v)))));
    rows.push(el("tr", {}, el("th", { scope: "row" }, w.live_estimate_actual), el("td"), el("td", { class: "num" }, this.spent == null ? NONE : money(this.spent)), el("td")));
    const expected = totals(this.first)[1];
    if (expected > 0 && this.spent != null) rows.push(el("tr", {}, el("th", { scope: "row" }, w.live_estimate_ratio), el("td"), el("td", { class: "num" }, (this.spent / expected).toFixed(2)), el("td")));
    $("estimate").replaceChildren(el("table", {}, el("caption", { class: "sr" }, w.live_estimate), el("thead", {}, head), el("tbody", {}, ...rows)));
  }
}

function totals(estimate) {
  const t = estimate.total || estimate;
  return [t.low ?? null, t.expected ?? null, t.high ?? null];
}
