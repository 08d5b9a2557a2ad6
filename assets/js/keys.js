// The key cards: a field of our own, posted to our own route, emptied at once. No key is ever kept by the page.
import { el, fill, say, words } from "./words.js";
import { get } from "./net.js";
import { translated } from "./said.js";

let catalogue = null;
let held = {};
const panels = new Set();

async function send(method, path, body) {
  const reply = await fetch(`/keys${path}`, { method, credentials: "same-origin", headers: body ? { "Content-Type": "application/json" } : {}, body: body ? JSON.stringify(body) : undefined }).catch(() => null);
  return [Boolean(reply?.ok), reply ? await reply.json().catch(() => ({})) : {}];
}

export class KeyPanel {
  constructor(root, changed, w) {
    Object.assign(this, { root, changed, w, roles: {}, apart: false, drawn: "" });
    panels.add(this);
  }

  // Which providers the two roles use now; one card for both where one key serves both.
  show(solver, judge, models = {}) {
    this.roles = { solver, judge };
    this.models = models;
    this.draw();
  }

  cards() {
    const { solver, judge } = this.roles, has = (p) => catalogue?.[p]?.fields.length;
    const cards = has(solver) ? [["solver", solver]] : [];
    if (has(judge) && (judge !== solver || this.apart)) cards.push(["judge", judge]);
    return cards;
  }

  draw() {
    const cards = this.cards(), key = JSON.stringify([cards, this.apart, this.roles]);
    if (key === this.drawn) return this.refresh();
    this.drawn = key;
    // A card that stays keeps what was typed into it, and the cursor.
    const typed = [...this.root.querySelectorAll("[data-field]")].map((input) => [input.id, input.value, input === document.activeElement]);
    this.root.replaceChildren(...cards.map(([role, id]) => this.card(role, id)));
    for (const [id, value, active] of typed) {
      const input = this.root.querySelector(`#${CSS.escape(id)}`);
      if (input && value) input.value = value;
      if (input && active) input.focus();
    }
    if (!cards.length) this.root.append(el("p", { class: "help" }, this.w.key_none));
    const { solver, judge } = this.roles;
    if (solver === judge && catalogue?.[solver]?.fields.length)
      this.root.append(el("label", { class: "apart" }, el("input", { type: "checkbox", checked: this.apart, onchange: (e) => { this.apart = e.target.checked; if (!this.apart) this.drop("judge", judge); this.draw(); } }), ` ${this.w.key_apart}`));
    this.refresh();
  }

  card(role, id) {
    const p = catalogue[id], w = this.w, at = `key-${role}-${id}`;
    const inputs = p.fields.map((f) => el("div", { class: "key-field" },
      el("label", { for: `${at}-${f.name}` }, f.label + (f.optional ? ` (${w.key_optional})` : "")),
      el("input", { id: `${at}-${f.name}`, type: f.secret ? "password" : "text", autocomplete: "off", autocapitalize: "off", autocorrect: "off", spellcheck: "false", "data-1p-ignore": true, "data-lpignore": "true", "data-field": f.name, placeholder: f.hint, "aria-describedby": `${at}-help` })));
    const said = el("p", { class: "key-said", role: "status", "data-said": "" });
    const form = el("form", { class: "key-card", "data-card": `${role}/${id}`, autocomplete: "off", onsubmit: (e) => { e.preventDefault(); this.use(role, id, form); } },
      el("h3", {}, say(w, "key_for", { provider: p.name }) + (this.roles.solver === this.roles.judge && !this.apart ? "" : ` · ${w[`est_${role}`]}`)),
      el("div", { class: "key-fields" }, ...inputs),
      el("div", { class: "row" }, el("button", { type: "submit", class: "primary" }, w.key_use),
        el("button", { type: "button", "data-check": "", onclick: () => this.check(role, id, form) }, w.key_check),
        el("button", { type: "button", "data-forget": "", onclick: () => this.drop(role, id, form) }, w.key_forget),
        p.connect && role === "solver" ? el("a", { class: "button", href: "/keys/openrouter/connect", title: w.key_connect_help }, w.key_connect) : null),
      said,
      el("p", { class: "help", id: `${at}-help` }, `${w.key_help} ${p.connect ? w.key_connect_help : ""}`),
      el("p", { class: "help" }, p.note, " ", p.url ? el("a", { href: p.url, target: "_blank", rel: "noopener noreferrer" }, w.key_get) : null));
    return form;
  }

  refresh() {
    for (const form of this.root.querySelectorAll("[data-card]")) {
      const now = held[form.dataset.card];
      form.querySelector("[data-check]").disabled = form.querySelector("[data-forget]").disabled = !now;
      if (now && !form.querySelector("[data-said]").dataset.kind) this.say(form, now.tail ? say(this.w, "key_held", { tail: now.tail }) : this.w.key_held_plain, "held");
    }
  }

  async use(role, id, form) {
    const body = {};
    for (const input of form.querySelectorAll("[data-field]")) {
      body[input.dataset.field] = input.value;
      if (input.type === "password") input.value = "";
    }
    const [ok, answer] = await send("POST", `/${role}/${id}`, body).catch(() => [false, {}]);
    if (!ok) return this.say(form, translated(answer.error || this.w.key_failed), "bad");
    this.took(answer, form);
  }

  async check(role, id, form) {
    this.say(form, this.w.key_checking, "held");
    const [, answer] = await send("POST", `/${role}/${id}/check`, { model: this.models[role] || "" }).catch(() => [false, {}]);
    this.say(form, translated(answer.sentence || answer.error || this.w.key_failed), answer.ok ? "good" : "bad");
  }

  async drop(role, id, form) {
    const [ok, answer] = await send("DELETE", `/${role}/${id}`).catch(() => [false, {}]);
    if (ok) this.took(answer, form, form ? this.w.key_forgotten : "");
  }

  took(answer, form, sentence) {
    held = answer.held || {};
    if (form) { form.querySelector("[data-said]").dataset.kind = ""; if (sentence) this.say(form, sentence, "held"); }
    for (const panel of panels) panel.refresh();
    this.changed();
  }

  say(form, sentence, kind) {
    const node = form.querySelector("[data-said]");
    node.dataset.kind = kind === "held" && sentence !== this.w.key_forgotten ? "" : kind;
    node.className = `key-said ${kind}`;
    node.textContent = sentence;
  }
}

export async function ready() {
  catalogue ||= await get("/keys/catalogue");
  const [, answer] = await send("GET", "");
  held = answer.held || {};
}

export async function mount(root, changed) {
  const [w] = await Promise.all([words(), ready()]);
  fill(root, w);
  const panel = new KeyPanel(root.querySelector("[data-cards]"), changed, w);
  window.l2keys = panel;
  const now = window.l2roles;
  if (now) panel.show(...now);
  changed();
}
