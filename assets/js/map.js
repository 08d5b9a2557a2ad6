// The verdict map: one canvas, a row per task, a cell per criterion in its layer's block. Draws only rows that changed.
import { say } from "./words.js";

const LAYERS = ["task", "consensus", "universal"];
const GAP = 10;
const TALLEST = 520;

export class VerdictMap {
  // `details` fetches the ids and weights of the criteria, once.
  constructor(canvas, tip, heads, model, w, details) {
    Object.assign(this, { canvas, heads, tip, model, w, details, dirty: new Set(), row: 0, col: 0, focused: false });
    this.pen = canvas.getContext("2d", { alpha: false });
    this.slots = model.tasks.map((t) => slotsOf(t));
    this.width = LAYERS.map((_, i) => Math.max(0, ...this.slots.map((s) => s.sizes[i])));
    canvas.addEventListener("pointermove", (e) => this.point(e));
    canvas.addEventListener("pointerleave", () => this.hide());
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("focus", () => { this.focused = canvas.matches(":focus-visible"); if (this.focused) this.show(this.row, this.col, true); });
    canvas.addEventListener("blur", () => { this.focused = false; this.dirty.add(this.row); this.flush(); this.hide(); });
    this.themed = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.layout();
    this.themed.addEventListener("change", this.repaint);
    this.spacer = canvas.parentElement;
    this.box = this.spacer.parentElement;
    this.scrolled = () => { this.soon ||= requestAnimationFrame(() => { this.soon = 0; this.again(); }); };
    this.box.addEventListener("scroll", this.scrolled, { passive: true });
    this.watch = new ResizeObserver(() => { if (this.spacer.clientWidth !== this.seen) this.layout(); });
    this.watch.observe(this.box);
    this.layout();
  }

  close() {
    this.watch.disconnect();
    this.box.removeEventListener("scroll", this.scrolled);
    this.themed.removeEventListener("change", this.repaint);
  }

  layout() {
    const style = getComputedStyle(this.canvas);
    this.colour = Object.fromEntries(["surface", "cell-pass", "cell-fail", "cell-none", "unread", "ink", "ink-3", "fail", "focus", "skip"]
      .map((n) => [n, style.getPropertyValue(`--${n}`).trim()]));
    const box = (this.seen = this.spacer.clientWidth);
    const rows = this.model.rows;
    const cols = this.width.reduce((a, b) => a + b, 0) || 1;
    this.size = Math.max(3, Math.min(16, rows > 300 ? 6 : rows > 80 ? 10 : 16));
    this.label = this.size >= 9 ? 46 : 0;
    this.cell = Math.max(4, Math.min(36, Math.floor((box - this.label - 2 * GAP) / cols)));
    const width = this.label + cols * this.cell + 2 * GAP;
    // The canvas is as tall as what can be seen of it, and stays in sight while its box is scrolled.
    const scale = Math.min(2, devicePixelRatio || 1);
    this.total = Math.max(1, rows * this.size);
    const height = Math.min(this.total, TALLEST);
    this.tall = height;
    this.spacer.style.height = `${this.total}px`;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.font = `${Math.min(11, this.size - 2)}px ${style.getPropertyValue("--mono") || "monospace"}`;
    this.starts = [0, this.width[0], this.width[0] + this.width[1]];
    [...this.heads.children].forEach((li, i) => {
      li.hidden = !this.width[i];
      li.style.left = `${this.x({ layer: i, at: 0 })}px`;
      li.style.width = `${this.width[i] * this.cell + GAP - 2}px`;
    });
    this.again();
  }

  get top() { return Math.min(this.box.scrollTop, Math.max(0, this.total - this.tall)); }

  // Everything in sight anew: after a scroll, a new size or another theme.
  again() {
    this.pen.fillStyle = this.colour.surface;
    this.pen.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const first = Math.floor(this.top / this.size), last = Math.ceil((this.top + this.tall) / this.size);
    for (let r = first; r < Math.min(last, this.model.rows); r++) this.dirty.add(r);
    this.flush();
  }

  touch(row) { this.dirty.add(row); }

  flush() {
    const top = this.top;
    for (const row of this.dirty) this.draw(row, top);
    this.dirty.clear();
  }

  x(slot) { return this.label + slot.layer * GAP + (this.starts[slot.layer] + slot.at) * this.cell; }

  draw(row, top) {
    const { pen, size, cell, colour } = this;
    const y = row * size - top;
    if (y < -size || y > this.tall) return;
    const slots = this.slots[this.model.taskOf(row)].list;
    pen.fillStyle = colour.surface;
    pen.fillRect(0, y, this.canvas.width, size);
    if (this.label) {
      pen.fillStyle = colour["ink-3"];
      pen.font = this.font;
      pen.textBaseline = "middle";
      pen.fillText(this.model.tasks[this.model.taskOf(row)].key.slice(0, 7), 0, y + size / 2);
    }
    for (let i = 0; i < slots.length; i++) this.paint(this.x(slots[i]), y, this.model.state(row, i));
    if (this.focused && row === this.row && slots[this.col]) {
      pen.strokeStyle = colour.focus;
      pen.lineWidth = 2;
      pen.strokeRect(this.x(slots[this.col]), y + 1, cell - 1, size - 2);
    }
  }

  paint(x, y, state) {
    const { pen, colour } = this;
    const w = this.cell - 1, h = this.size - 1, small = Math.min(w, h) < 8;
    pen.fillStyle = { met: colour["cell-pass"], avoided: colour["cell-pass"], unmet: colour["cell-fail"], penalty: colour.fail, unread: colour.unread }[state] || colour["cell-none"];
    pen.fillRect(x, y, w, h);
    if (small || !state || state === "skipped") return;
    const cx = x + w / 2, cy = y + h / 2, r = Math.min(3.2, h / 4);
    pen.beginPath();
    if (state === "penalty") { pen.moveTo(cx, cy - r); pen.lineTo(cx + r, cy + r); pen.lineTo(cx - r, cy + r); pen.closePath(); }
    else if (state === "avoided") { pen.moveTo(cx - r, cy - r); pen.lineTo(cx + r, cy - r); pen.lineTo(cx, cy + r); pen.closePath(); }
    else if (state === "unread") { pen.moveTo(cx, cy - r - 1); pen.lineTo(cx + r, cy); pen.lineTo(cx, cy + r + 1); pen.lineTo(cx - r, cy); pen.closePath(); }
    else pen.arc(cx, cy, r, 0, 6.2832);
    if (state === "met" || state === "penalty") { pen.fillStyle = colour.surface; pen.fill(); }
    else { pen.strokeStyle = state === "unmet" ? colour.ink : colour.surface; pen.lineWidth = 1.3; pen.stroke(); }
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top + this.top) / this.size), x = event.clientX - box.left;
    if (row < 0 || row >= this.model.rows) return this.hide();
    const col = this.slots[this.model.taskOf(row)].list.findIndex((s) => x >= this.x(s) && x < this.x(s) + this.cell);
    if (col < 0) this.hide(); else this.show(row, col, false);
  }

  key(event) {
    const move = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1], PageDown: [20, 0], PageUp: [-20, 0], Home: [-1e9, 0], End: [1e9, 0] }[event.key];
    if (!move) return;
    event.preventDefault();
    this.dirty.add(this.row);
    this.row = Math.max(0, Math.min(this.model.rows - 1, this.row + move[0]));
    this.col = Math.max(0, Math.min(this.slots[this.model.taskOf(this.row)].list.length - 1, this.col + move[1]));
    this.focused = true;
    this.dirty.add(this.row);
    this.flush();
    this.show(this.row, this.col, true);
  }

  show(row, col, scroll) {
    const task = this.model.tasks[this.model.taskOf(row)], c = task.criteria[col];
    if (!c) return;
    this.shown = c;
    if (c.id == null) this.details().then(() => this.shown === c && this.tell(row, task, c, col)).catch(() => this.hide());
    else this.tell(row, task, c, col);
    if (scroll) {
      this.dirty.add(row);
      this.flush();
      const y = row * this.size;
      if (y < this.top) this.box.scrollTop = y; else if (y + this.size > this.top + this.tall) this.box.scrollTop = y + this.size - this.tall;
    }
  }

  tell(row, task, c, col) {
    let text = say(this.w, "live_map_cell", { task: task.key, criterion: c.id, layer: this.w[`layer_${c.layer}`], weight: c.weight, state: this.w[`verdict_${this.model.state(row, col) || "waiting"}`] });
    if (this.model.epochs > 1) text += ` (${say(this.w, "live_map_epoch", { n: this.model.epochOf(row) })})`;
    this.tip.textContent = text;
  }

  hide() { this.shown = null; if (!this.focused) this.tip.textContent = "\u00a0"; }
}

function slotsOf(task) {
  const sizes = [0, 0, 0];
  const list = task.criteria.map((c) => { const layer = LAYERS.indexOf(c.layer); return { layer, at: sizes[layer]++ }; });
  return { list, sizes };
}
