// The live view: opens a run's stream, folds it, and redraws at a calm pace. One stream a tab, none while it is hidden.
import { carried, el, fill, say, words } from "./words.js";
import { count, duration, interval, moment, money, points, range, NONE } from "./format.js";
import { get } from "./net.js";
import { translated } from "./said.js";
import { Model } from "./model.js";
import { VerdictMap } from "./map.js";
import { Bars } from "./bars.js";
import { Spend } from "./spend.js";
import { remember } from "./mine.js";
import { resumeForm } from "./resume.js";

const GOING = new Set(["running", "starting"]);

class Live {
  constructor(root, w) {
    Object.assign(this, { root, w, id: null, position: 0, model: null, status: "", differences: [] });
    this.$ = (name) => root.querySelector(`[data-${name}]`);
    this.spend = new Spend(this.$, w);
    this.$("stop").addEventListener("click", () => this.stop());
    this.$("copy").addEventListener("click", () => this.copy());
    this.form = resumeForm(this, w);
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.listen()));
    addEventListener("pagehide", () => this.close());
  }

  async open(id) {
    if (id === this.id) return;
    this.close();
    this.map?.close();
    Object.assign(this, { id, position: 0, model: null, map: null, status: "", differences: [], plan: "", over: false });
    this.spend.reset();
    this.$("empty").hidden = false;
    this.$("empty").textContent = say(this.w, "live_loading");
    this.$("run").hidden = true;
    const reply = await fetch(`/live/${id}/facts`).catch(() => null);
    if (this.id !== id) return;
    if (!reply?.ok) return this.gone(reply);
    this.facts = await reply.json();
    this.introduce();
    this.listen();
  }

  // Only with the plan does the run say where its tasks come from and what it differs in.
  async again() {
    const reply = await fetch(`/live/${this.id}/facts`).catch(() => null);
    if (!reply?.ok) return;
    this.facts = await reply.json();
    this.introduce();
  }

  gone(reply) {
    this.id = null;
    this.$("empty").textContent = reply && reply.status === 404
      ? `${say(this.w, "live_gone")} ${say(this.w, "live_gone_help")}` : say(this.w, "live_reconnecting");
  }

  introduce() {
    const f = this.facts, url = `${location.origin}/r/${this.id}`;
    this.$("empty").hidden = true;
    this.$("run").hidden = false;
    this.$("model").textContent = f.solver;
    this.$("about").textContent = [`${this.w.est_judge}: ${f.judge}`, f.data?.replace(/^(.*?)( \([\d /]+\))?$/s, (_, name, size = "") => translated(name) + size), f.started ? moment(f.started) : ""].filter(Boolean).join(" · ");
    this.$("link").textContent = url;
    this.$("link").href = url;
    this.$("open").href = url + carried();
    this.differences = [...(f.differences || [])];
    this.compare();
    this.spend.facts(f);
    this.state(f.status || "starting", f.reason || "");
    if (f.owner) remember({ id: this.id, title: f.solver, started: f.started || Date.now() / 1000 });
  }

  listen() {
    if (!this.id || this.source || document.hidden || this.over) return;
    clearTimeout(this.timer);
    const source = (this.source = new EventSource(`/api/runs/${this.id}/events?after=${this.position}`));
    let told = false;  // the server's last word stands until it is heard again
    source.onmessage = (e) => { told = false; this.position = Number(e.lastEventId) || this.position; this.queue(JSON.parse(e.data)); this.problem(""); };
    this.final = null;
    source.addEventListener("done", () => { this.over = true; this.close(); this.settle(this.id); });
    source.addEventListener("bye", (e) => { told = true; this.problem(JSON.parse(e.data)); });
    source.onerror = () => {
      if (source !== this.source) return;
      if (!told) this.problem(say(this.w, "live_reconnecting"));
      // A stream that was refused is not opened again by the browser.
      if (source.readyState === EventSource.CLOSED) { this.close(); this.asked = 0; this.ask(this.id); }
    };
  }

  // Without a stream, as where too many watch: asks every five seconds, and for a stream again each minute.
  async ask(id) {
    const reply = await fetch(`/api/runs/${id}/events?poll=1&after=${this.position}`).catch(() => null);
    if (id !== this.id || this.source || document.hidden) return;
    if (reply?.status === 404) return this.problem(`${say(this.w, "live_gone")} ${say(this.w, "live_gone_help")}`);
    if (reply?.ok) {
      const news = await reply.json();
      this.position = news.position;
      if (news.items.length) await this.queue(news.items);
      if (id !== this.id) return;
      this.problem(news.settled ? "" : say(this.w, "live_asking"));
      if (news.settled) { this.over = true; this.settle(id); return; }
    }
    this.timer = setTimeout(() => (++this.asked % 12 ? this.ask(id) : this.listen()), 5000);
  }

  // What has ended shows the figures of the result page, whose intervals are resampled.
  async settle(id) {
    const reply = await fetch(`/live/${id}/facts?means=1`).catch(() => null);
    const means = reply?.ok ? (await reply.json()).means : null;
    if (id !== this.id) return;
    this.final = means;
    this.draw();
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  // Items wait here until the plan they belong to is there, so that none is folded into another plan.
  async queue(items) {
    this.waiting = (this.waiting || Promise.resolve()).then(() => this.take(this.id, items)).catch((e) => this.problem(String(e.message || e)));
    await this.waiting;
  }

  async take(id, items) {
    for (const item of items) {
      if (id !== this.id) return;
      if (item[0] === "p") await this.load(item[3]);
      else this.apply(item);
    }
    this.frame ||= requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  async load(digest) {
    if (this.plan === digest) return;
    const plan = (more) => get(`/api/runs/${this.id}/plan?v=${digest}${more}`);
    const model = new Model(await plan("&brief=1"));
    this.plan = digest;
    this.model = model;
    this.map?.close();
    // What only a pointed-at cell tells is fetched when the first one is pointed at.
    let named = null;
    const details = () => (named ||= plan("").then((whole) => model.name(whole)));
    this.map = new VerdictMap(this.$("map"), this.$("tip"), this.$("layers"), model, this.w, details);
    this.$("bars").replaceChildren();
    this.bars = new Bars(this.$("bars"), this.$("bars-table"), this.model, this.w);
    this.$("feed").replaceChildren();
    this.feedKey = "";
    await this.again();
  }

  apply(item) {
    const m = this.model;
    if (typeof item[0] === "number") { m.finish(...item); this.map.touch(item[0]); return; }
    const [kind, ...rest] = item;
    if (kind === "t") { if (rest[1] === 0) m.restart(rest[0]); this.map.touch(rest[0]); }
    else if (kind === "v") { m.verdict(...rest); this.map.touch(rest[0]); }
    else if (kind === "d") { if (!this.differences.includes(rest[0])) { this.differences.push(rest[0]); this.compare(); } }
    else if (kind === "s") this.state(...rest);
    else if (kind === "w") this.wait(rest);
    else if (kind === "$") this.spend.money(rest);
    else if (kind === "e") this.spend.refined(...rest);
    else if (kind === "c") this.spend.connections(rest[0]);
  }

  state(status, reason) {
    const going = GOING.has(status), w = this.w;
    if (status !== this.status) this.announce(`${this.$("model").textContent}: ${w[`status_${status}`] || status}`);
    this.status = status;
    this.$("status").textContent = w[`status_${status}`] || status;
    this.$("status").dataset.status = status;
    const owner = this.facts?.owner;
    this.$("stop").hidden = this.$("stop-help").hidden = !(going && owner);
    this.$("stop").disabled = false;
    this.$("stop").textContent = w.stop;
    this.$("open").hidden = going;
    this.$("open").classList.toggle("primary", status === "finished");
    // After a pilot the question is whether to go on: what it would cost comes first.
    if (status === "paused") this.root.querySelector(".score").after(this.$("estimate-box"));
    this.$("resume").hidden = going || status === "finished" || !owner;
    const f = this.facts;
    this.$("more").hidden = going || !owner || !f.tasks || (f.tasks >= f.available && f.epochs >= 20);
    if (going) this.$("resume-form").hidden = true;
    this.$("reason").hidden = !reason;
    this.$("reason").textContent = translated(reason);
    if (!going) this.wait([]);
    if (going) this.over = false;
  }

  wait([seconds, reason, role]) {
    const node = this.$("waiting");
    clearInterval(this.countdown);
    node.hidden = seconds == null;
    if (seconds == null) return;
    const until = Date.now() + seconds * 1000;
    const tell = () => { node.textContent = say(this.w, "live_waiting", { reason: this.w[`wait_${reason}`] || reason, role: this.w[`est_${role}`] || role, seconds: Math.max(0, Math.ceil((until - Date.now()) / 1000)) }); };
    tell();
    this.countdown = setInterval(tell, 1000);
  }

  compare() {
    const said = this.differences.map(translated), n = said.length;
    this.$("differences").hidden = n === 0;
    this.$("differences-line").textContent = say(this.w, "live_not_comparable", { list: said.slice(0, 2).join("; ") + (n > 2 ? ` (+${n - 2})` : "") });
    this.$("differences-list").replaceChildren(...said.map((text) => el("li", {}, text)));
  }

  // Cells and numbers follow every batch; bars and the feed at most once a second.
  draw() {
    const m = this.model;
    if (!m) return;
    this.map.flush();
    const attempted = m.attempted, span = (i) => (i ? ` · ${this.w.col_interval} ${range(i)}` : "");
    const known = (mean) => (mean?.interval ? [mean.interval.low, mean.interval.high] : null);
    const ends = this.final ? known(this.final.scored) : interval(m.total.n, m.total.sum, m.total.squares);
    this.text("mean", m.mean == null ? NONE : points(m.mean));
    this.text("mean-more", m.mean == null ? this.w.live_no_score : `${say(this.w, "live_n", { n: m.total.n })}${span(ends)}`);
    this.text("attempted", points(attempted.mean));
    this.text("attempted-more", say(this.w, "live_n", { n: attempted.n }) + span(known(this.final?.attempted)));
    const done = this.status === "finished" ? m.all : m.done;
    const short = done < m.rows && this.status && !GOING.has(this.status) && this.status !== "finished";
    const far = short ? say(this.w, "cut_short", { done, planned: m.rows, status: this.w[`status_${this.status}`] || this.status })
      : say(this.w, m.epochs > 1 ? "live_done_epochs" : "live_done", { done, planned: m.rows });
    if (short) this.text("mean-more", `${this.$("mean-more").textContent} · ${far}`);
    this.text("done", `${far} · ${say(this.w, "live_verdicts", { n: count(m.verdicts) })}`);
    const percent = m.rows ? Math.floor((100 * done) / m.rows) : 0;
    this.$("progress-bar").style.width = `${percent}%`;
    this.$("progress").setAttribute("aria-valuenow", percent);
    const now = performance.now();
    if (this.over || !(now - this.slow < 950)) { this.slow = now; this.drawSlow(); }
    else this.later ||= setTimeout(() => { this.later = 0; this.slow = 0; this.draw(); }, 1000);
  }

  drawSlow() {
    const m = this.model, key = m.feed.join();
    this.bars.update();
    this.spend.draw(m);
    if (key !== this.feedKey || this.over) {
      this.feedKey = key;
      this.$("feed").replaceChildren(...m.feed.map((row) => this.feedRow(row)));
    }
    this.$("outcomes").replaceChildren(...this.outcomes().flatMap(([name, n]) => [el("dt", {}, name), el("dd", { class: "num" }, count(n))]));
    this.$("map").setAttribute("aria-label", say(this.w, "live_map_label", { tasks: m.rows, met: m.tally.met, unmet: m.tally.unmet, unread: m.tally.unread, penalty: m.tally.penalty }));
    if (m.rows && (m.done === m.rows || !(performance.now() - this.told < 10000))) {
      this.told = performance.now();
      this.announce(`${this.$("done").textContent}. ${this.w.live_score}: ${this.$("mean").textContent}`);
    }
  }

  outcomes() {
    const c = this.model.counts, cut = c.scored_cut || 0;
    const rows = Object.entries(c).filter(([name, n]) => name !== "scored_cut" && (n || name === "scored"))
      .map(([name, n]) => [this.w[`outcome_${name}`] || name, name === "scored" ? n + cut : n]);
    return cut ? [...rows, [this.w.mark_cut, cut]] : rows;
  }

  feedRow(row) {
    const m = this.model, task = m.tasks[m.taskOf(row)], end = m.ended[row] || { outcome: "", score: null };
    const cut = end.outcome === "scored_cut", name = cut ? "scored" : end.outcome;
    const label = (this.w[`outcome_${name}`] || name) + (cut ? `, ${this.w.mark_cut}` : "");
    return el("tr", {}, el("td", {}, task.key + (m.epochs > 1 ? ` · ${m.epochOf(row)}` : "")), el("td", { class: "wide-only" }, m.competencies[task.competency]),
      el("td", { class: name === "scored" ? "v-pass" : name === "api_error" ? "v-fail" : "v-unread" }, label), el("td", { class: "num" }, points(end.score)));
  }

  text(name, value) {
    const node = this.$(name);
    if (node.textContent !== value) node.textContent = value;
  }

  announce(text) { this.text("summary", text); }

  problem(text) {
    this.$("problem").hidden = !text;
    this.text("problem", text);
  }

  async stop() {
    this.$("stop").disabled = true;
    this.$("stop").textContent = this.w.stopping;
    const reply = await fetch(`/api/runs/${this.id}/stop`, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }).catch(() => null);
    if (!reply?.ok) this.$("stop").disabled = false;
  }

  async copy() {
    await navigator.clipboard?.writeText(this.$("link").href).catch(() => null);
    this.text("copy", this.w.copied);
    setTimeout(() => this.text("copy", this.w.copy), 2000);
  }
}

let live = null;

export async function mount(root) {
  const w = await words();
  fill(root, w);
  live = new Live(root, w);
  window.l2live = live;
  const id = new URLSearchParams(location.search).get("run");
  if (id) live.open(id);
  return live;
}

export function current() { return live; }
export { duration };
