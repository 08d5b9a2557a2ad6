// "My runs": the secret ids of this browser's runs, kept in this browser and nowhere else. Never a key.
import { carried, el, fill, words } from "./words.js";
import { moment, points, NONE } from "./format.js";
import { read, write } from "./shelf.js";

const MOST = 6;

export const mine = () => read().filter((r) => typeof r?.id === "string");
const keep = (rows) => write(rows.slice(0, 200));

export function remember({ id, title, started }) {
  keep([{ id, title, started: Math.round(started) }, ...mine().filter((r) => r.id !== id)]);
  dispatchEvent(new Event("l2-mine"));
}

export async function mount(root) {
  const w = await words();
  fill(root, w);
  const show = () => list(root, w);
  addEventListener("l2-mine", show);
  root.addEventListener("l2-show", show);
  root.addEventListener("change", () => { root.querySelector("[data-compare-go]").disabled = picked(root).length < 2 || picked(root).length > MOST; });
  root.querySelector("[data-compare-go]").addEventListener("click", () => { location.href = `/compare?runs=${picked(root).join(",")}${carried().replace("?", "&")}`; });
  show();
}

function picked(root) {
  return [...root.querySelectorAll("[data-pick]:checked")].map((box) => box.closest("tr").dataset.id);
}

async function list(root, w) {
  const rows = mine();
  root.querySelector("[data-compare]").hidden = rows.length < 2;
  root.querySelector("[data-compare-go]").disabled = true;
  root.querySelector("[data-none]").hidden = rows.length > 0;
  root.querySelector("[data-table]").hidden = rows.length === 0;
  root.querySelector("[data-forget-help]").hidden = rows.length === 0;
  const body = root.querySelector("[data-rows]");
  body.replaceChildren(...rows.map((r) => line(r, w)));
  for (const r of rows.slice(0, 30)) {
    const reply = await fetch(`/live/${r.id}/facts`).catch(() => null);
    const node = body.querySelector(`[data-id="${CSS.escape(r.id)}"]`);
    if (!node) continue;
    const facts = reply?.ok ? await reply.json() : null;
    node.querySelector("[data-state]").textContent = facts ? `${w[`status_${facts.status}`] || facts.status} · ${facts.done}/${facts.planned}` : reply ? w.live_gone : NONE;
    node.querySelector("[data-score]").textContent = points(facts?.mean ?? null);
  }
}

function line(r, w) {
  const forget = el("button", { type: "button", title: w.mine_forget, "aria-label": `${w.mine_forget}: ${r.title}`, onclick: () => { keep(mine().filter((x) => x.id !== r.id)); dispatchEvent(new Event("l2-mine")); } }, "×");
  const open = el("a", { href: `/?run=${encodeURIComponent(r.id)}`, class: "button", "aria-label": `${w.mine_open}: ${r.title}` }, w.mine_open);
  const pick = el("input", { type: "checkbox", "data-pick": true, "aria-label": `${w.nav_compare}: ${r.title}` });
  return el("tr", { "data-id": r.id }, el("td", {}, pick), el("td", { class: "break" }, r.title), el("td", { "data-state": "" }, NONE), el("td", { class: "num wide-only", "data-score": "" }, NONE),
    el("td", { class: "nowrap wide-only" }, moment(r.started)), el("td", {}, el("div", { class: "row end" }, open, forget)));
}
