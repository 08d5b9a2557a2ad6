// "Go on": a raised cap if wanted, the keys asked for again, then the same run from what was paid for.
import { KeyPanel, ready } from "./keys.js";
import { translated } from "./said.js";

export function resumeForm(live, w) {
  const { $ } = live, form = $("resume-form");
  let panel = null;
  $("resume").addEventListener("click", async () => {
    form.hidden = !form.hidden;
    if (form.hidden) return;
    await ready();
    const box = document.createElement("div");
    $("resume-keys").replaceChildren(box);
    panel = new KeyPanel(box, () => {}, w);
    const f = live.facts;
    panel.show(f.providers.solver, f.providers.judge, { solver: f.solver, judge: f.judge });
    $("resume-cap").value = f.max_cost ?? "";
    form.querySelector("input, button").focus();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const raw = $("resume-cap").value;
    const reply = await fetch(`/live/${live.id}/resume`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(raw === "" ? {} : { max_cost: Number(raw) }) }).catch(() => null);
    const answer = reply ? await reply.json().catch(() => ({})) : {};
    if (!reply?.ok) return live.problem(translated(answer.error || w.live_reconnecting));
    live.problem("");
    const id = live.id;
    live.id = null;
    live.open(id);
  });
  return form;
}
