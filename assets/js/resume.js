// "Go on" and "More tasks": a raised cap if wanted, the keys asked for again, then the same run from what was paid for.
import { KeyPanel, ready } from "./keys.js";
import { money } from "./format.js";
import { translated } from "./said.js";
import { say } from "./words.js";

export function resumeForm(live, w) {
  const { $ } = live, form = $("resume-form"), part = $("more-part"), tasks = $("more-tasks"), epochs = $("more-epochs");
  let panel = null;

  async function open(more) {
    const same = !form.hidden && part.hidden === !more;
    form.hidden = true;  // until its values are there: what one typed before would be lost
    if (same) return;
    await Promise.all([ready(), live.again()]);
    part.hidden = !more;
    const box = document.createElement("div");
    $("resume-keys").replaceChildren(box);
    panel = new KeyPanel(box, () => {}, w);
    const f = live.facts;
    panel.show(f.providers.solver, f.providers.judge, { solver: f.solver, judge: f.judge });
    $("resume-cap").value = f.max_cost ?? "";
    if (more) {
      Object.assign(tasks, { min: f.tasks, max: f.available, value: Math.min(f.available, 2 * f.tasks) });
      Object.assign(epochs, { min: f.epochs, value: f.epochs });
      price();
    }
    form.hidden = false;
    form.querySelector(more ? "[data-more-tasks]" : "input:not([data-more-part] *), button").focus();
  }

  // By what a task of this run has cost so far; no other figure is nearer.
  function price() {
    const f = live.facts, n = Math.max(0, Number(tasks.value) * Number(epochs.value) - f.done);
    const cost = f.per_task == null ? w.est_unknown : f.per_task === 0 ? w.spend_free : `≈ ${money(n * f.per_task)}`;
    $("more-price").textContent = say(w, "more_price", { n, money: cost });
  }

  // What is to change: only what differs, so that a run which just goes on stays the run it is.
  function changes() {
    const f = live.facts, found = {}, cap = $("resume-cap").value;
    if (cap !== "") found.max_cost = Number(cap);
    if (part.hidden) return found;
    if (Number(tasks.value) !== f.tasks) found.sample_limit = Number(tasks.value) >= f.available ? 0 : Number(tasks.value);
    if (Number(epochs.value) !== f.epochs) found.epochs = Number(epochs.value);
    return found;
  }

  for (const input of [tasks, epochs]) input.addEventListener("input", price);
  $("resume").addEventListener("click", () => open(false));
  $("more").addEventListener("click", () => open(true));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const reply = await fetch(`/live/${live.id}/resume`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(changes()) }).catch(() => null);
    const answer = reply ? await reply.json().catch(() => ({})) : {};
    if (!reply?.ok) return live.problem(translated(answer.error || w.live_reconnecting));
    live.problem("");
    const id = live.id;
    live.id = null;
    live.open(id);
  });
  return form;
}
