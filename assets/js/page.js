// The page around Gradio: words of the visitor's language in our own HTML, and the way from a started run to its live view.
import { carried, fill, language, words } from "./words.js";
import { current } from "./live.js";
import "./signin.js";

async function translate() {
  document.documentElement.lang = language();
  for (const link of document.querySelectorAll(".l2-head .langs a")) if (link.hreflang === language()) link.setAttribute("aria-current", "true");
  if (language() === "en") return;
  const w = await words();
  fill(document, w);
  new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.addedNodes) if (node.nodeType === 1 && node.querySelector?.("[data-w]")) fill(node, w);
  }).observe(document.body, { childList: true, subtree: true });
}

// The address names the run, so that a reload or a bookmark opens it again; nothing else of the page is in it.
window.l2open = (id) => {
  const url = new URL(location.href);
  url.search = carried();
  url.searchParams.set("run", id);
  history.pushState({ run: id }, "", url);
  current()?.open(id);
};

addEventListener("popstate", () => {
  const id = new URLSearchParams(location.search).get("run");
  if (id) current()?.open(id);
});

// What stands in a searchable list is replaced by what is typed, not continued by it.
addEventListener("focusin", (event) => {
  if (event.target.matches?.("input[role=combobox]")) setTimeout(() => event.target.select(), 0);
});

// Back on the page, perhaps from the terms of the gated tasks or from a sign-out elsewhere: the server is asked again.
const recheck = () => document.querySelector("#gate-back")?.click();
addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && document.querySelector("[data-recheck], #signed-in")) recheck();
});
addEventListener("click", (event) => {
  const link = event.target.closest?.(".l2-head a, .l2-foot a");
  if (link?.hreflang) link.search = new URLSearchParams([...new URLSearchParams(location.search)].filter(([k]) => k !== "lang").concat([["lang", link.hreflang]]));
  else if (link) link.search = carried();
  if (event.target.closest?.("[data-recheck]")) recheck();
  // The server wrote these links before a run was started or another one opened: they lead back to where the visitor is now.
  const account = event.target.closest?.("#sign-in, #sign-out, #source-why a[href^='/login/']");
  if (!account) return;
  const here = new URLSearchParams(location.search);
  here.delete("signin");
  account.search = new URLSearchParams({ _target_url: here.size ? `/?${here}` : "/" });
});

translate();
