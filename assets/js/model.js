// The state of one run, folded from its brief plan and the compact stream (see runner/wire.py). Knows nothing of the page.
const CUT_OFF = new Set(["skipped_by_cap", "cancelled"]); // by the end of the run: not ended, and can go on
const FAILED = new Set(["solver_empty", "solver_cut", "filtered"]);
const LETTERS = { P: 1, F: 2, x: 3 };

export class Model {
  constructor(plan) {
    this.epochs = plan.epochs;
    this.outcomes = plan.outcomes;
    this.competencies = plan.competencies;
    this.tasks = plan.tasks.map(([key, competency, marks]) => ({
      key, competency, criteria: [...marks].map((m) => ({ layer: plan.layers["abc".indexOf(m.toLowerCase())], penalty: m < "a" })),
    }));
    this.rows = this.tasks.length * this.epochs;
    this.ended = new Array(this.rows).fill(null);
    this.cells = Array.from({ length: this.rows }, (_, r) => new Uint8Array(this.tasks[this.taskOf(r)].criteria.length));
    this.groups = this.competencies.map(() => ({ n: 0, sum: 0, squares: 0, version: 0 }));
    this.counts = Object.fromEntries(this.outcomes.map((o) => [o, 0]));
    this.total = { n: 0, sum: 0, squares: 0 };
    this.done = this.failed = 0;
    this.tally = { met: 0, unmet: 0, unread: 0, penalty: 0, avoided: 0 };
    this.feed = [];
  }

  // Ids and weights of the criteria, from the whole plan.
  name(plan) {
    plan.tasks.forEach((task, i) => task[4].forEach(([id, , weight], j) => Object.assign(this.tasks[i].criteria[j], { id, weight })));
  }

  taskOf(row) { return row % this.tasks.length; }
  epochOf(row) { return Math.floor(row / this.tasks.length) + 1; }
  // Every row that has an outcome, cut off or not.
  get all() { return this.ended.filter(Boolean).length; }
  get verdicts() { return Object.values(this.tally).reduce((a, b) => a + b, 0); }
  get mean() { return this.total.n ? this.total.sum / this.total.n : null; }
  get attempted() { const n = this.total.n + this.failed; return { n, mean: n ? this.total.sum / n : null }; }

  state(row, place) {
    const cell = this.cells[row][place];
    if (!cell) return this.ended[row] ? "skipped" : "";
    if (cell === 3) return "unread";
    const penalty = this.tasks[this.taskOf(row)].criteria[place].penalty;
    return cell === 1 ? (penalty ? "penalty" : "met") : penalty ? "avoided" : "unmet";
  }

  // One verdict, or all letters of a task; the row then has to be drawn again.
  verdict(row, place, letter) {
    const code = LETTERS[letter] || 0;
    if (this.cells[row][place] === code) return;
    this.count(row, place, -1);
    this.cells[row][place] = code;
    this.count(row, place, 1);
  }

  count(row, place, by) {
    if (this.cells[row][place]) this.tally[this.state(row, place)] += by;
  }

  finish(row, letters, code, score) {
    this.book(row, -1);
    for (let i = 0; i < letters.length && i < this.cells[row].length; i++) this.verdict(row, i, letters[i]);
    this.ended[row] = { outcome: this.outcomes[code], score };
    this.book(row, 1);
    if (!CUT_OFF.has(this.outcomes[code])) this.feed = [row, ...this.feed.filter((r) => r !== row)].slice(0, 12);
  }

  restart(row) {
    this.book(row, -1);
    this.ended[row] = null;
  }

  book(row, by) {
    const end = this.ended[row];
    if (!end) return;
    if (!CUT_OFF.has(end.outcome)) this.done += by;
    this.counts[end.outcome] += by;
    if (FAILED.has(end.outcome)) this.failed += by;
    if (end.score == null) return;
    for (const sums of [this.total, this.groups[this.tasks[this.taskOf(row)].competency]]) {
      sums.n += by;
      sums.sum += by * end.score;
      sums.squares += by * end.score * end.score;
      sums.version = (sums.version || 0) + 1;
    }
  }
}
