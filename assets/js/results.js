/* Result, compare and explore pages: draws the charts, follows a live run, opens rows in place. The pages read without it. */
"use strict";

const THEME = matchMedia("(prefers-color-scheme: dark)");
const holder = document.querySelector("[data-charts]");
let plotly = null;
let specs = null;

/* Colours are names of CSS variables in the figures, so that one figure serves both themes. */
function coloured(value, style) {
  if (typeof value === "string") return /^var\(--[\w-]+\)$/.test(value) ? style.getPropertyValue(value.slice(4, -1)).trim() : value;
  if (Array.isArray(value)) return value.map((v) => coloured(v, style));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, coloured(v, style)]));
  return value;
}

function load(url) {
  plotly ||= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    /* While it loads, plotly.js adds a style sheet for maps, which the page's policy refuses and no figure here needs. */
    document.head.appendChild = (node) => (node.tagName === "STYLE" ? node : Node.prototype.appendChild.call(document.head, node));
    script.onload = () => { delete document.head.appendChild; resolve(window.Plotly); };
    script.onerror = reject;
    document.head.append(script);
  });
  return plotly;
}

async function draw(figure) {
  const box = figure.querySelector(".plot");
  try {
    specs ||= fetch(holder.dataset.charts).then((r) => (r.ok ? r.json() : Promise.reject(r.status)));
    const [Plotly, all] = await Promise.all([load(holder.dataset.plotly), specs]);
    const spec = all[figure.dataset.chart];
    if (!spec) return;
    box.hidden = false;
    const { data, layout } = coloured(spec, getComputedStyle(document.documentElement));
    await Plotly.react(box, data, { ...layout, template: {}, dragmode: false }, { displayModeBar: false, responsive: true });
    figure.dataset.drawn = "";
  } catch {
    box.hidden = true;
    const table = figure.querySelector("[data-fold]");
    if (table) table.open = true;
  }
}

const near = "IntersectionObserver" in window && new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { near.unobserve(entry.target); draw(entry.target); }
}, { rootMargin: "400px" });

function charts() {
  if (!holder) return;
  for (const figure of document.querySelectorAll("[data-chart]")) {
    const fold = figure.querySelector("[data-fold]");
    if (fold) fold.open = false;
    const box = figure.querySelector(".plot");
    box.hidden = false;
    box.style.minHeight = `${figure.dataset.height}px`;
    if (near) near.observe(figure); else draw(figure);
  }
}

function redraw() {
  for (const figure of document.querySelectorAll("[data-chart][data-drawn]")) draw(figure);
}

async function part(url, name) {
  const address = new URL(url, location.href);
  address.searchParams.set("part", name);
  address.hash = "";
  const answer = await fetch(address, { headers: { "Accept-Language": document.documentElement.lang } });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.text();
}

/* Filters, sorting, pages and rows of the table are links and a form; here they change the table alone. */
async function table(url, focus) {
  const section = document.getElementById("tasks");
  section.setAttribute("aria-busy", "true");
  try {
    section.innerHTML = await part(url, "tasks");
    history.replaceState(null, "", url);
    if (focus) section.querySelector(focus)?.focus();
  } catch {
    location.href = url;
  } finally {
    section.removeAttribute("aria-busy");
  }
}

function onTableClick(event) {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const key = link.dataset.open;
  table(link.href, key ? `[data-open="${CSS.escape(key)}"]` : link.closest(".pager") ? ".pager [aria-current]" : "th[aria-sort] a");
}

function onTableForm(event) {
  event.preventDefault();
  const form = event.target;
  const url = new URL(form.action);
  url.search = new URLSearchParams([...new FormData(form)].filter(([, v]) => v)).toString();
  table(url.href, "button[type=submit]");
}

/* A live run: the top every three seconds, the figures every fifteen, the whole page once it has ended. */
function follow() {
  const top = document.getElementById("top");
  if (!holder?.hasAttribute("data-live") || !top) return;
  let beats = 0;
  let said = top.innerHTML;
  const timer = setInterval(async () => {
    if (document.hidden) return;
    try {
      const html = await part(location.href, "top");
      if (html !== said) { said = html; top.innerHTML = html; }
      if (top.querySelector("[data-status]").dataset.status !== "running") { clearInterval(timer); location.reload(); }
      else if (++beats % 5 === 0) { specs = null; redraw(); }
    } catch { /* the next beat tries again */ }
  }, 3000);
}

function copying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    const said = button.textContent;
    button.addEventListener("click", async () => {
      const from = document.querySelector(button.dataset.copy);
      await navigator.clipboard.writeText(from.value ?? from.textContent);
      button.textContent = button.dataset.done;
      setTimeout(() => { button.textContent = said; }, 2000);
    });
  }
}

charts();
follow();
copying();
THEME.addEventListener("change", redraw);
const tasks = document.getElementById("tasks");
tasks?.addEventListener("click", onTableClick);
tasks?.addEventListener("submit", onTableForm);
