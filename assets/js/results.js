/* Result, compare and explore pages: draws the charts, follows a live run, opens rows in place. The pages read without it. */
"use strict";

const THEME = matchMedia("(prefers-color-scheme: dark)");
const holder = document.querySelector("[data-charts]");
let plotly = null;
let specs = null;
const WIDE = 800;

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
    figure.querySelector("[data-save]").hidden = false;
  } catch {
    box.hidden = true;
    const table = figure.querySelector("[data-fold]");
    if (table) table.open = true;
  }
}

function lines(text, most) {
  const cut = [""];
  for (const word of text.split(" ")) {
    if (`${cut.at(-1)} ${word}`.length > most) cut.push(word); else cut[cut.length - 1] += ` ${word}`;
  }
  return cut.map((line) => line.trim().replace(/&/g, "&amp;").replace(/</g, "&lt;")).join("<br>");
}

/* A figure as it leaves the page: with its title, the run and what makes the score not comparable. No bold or small words
   in them: plotly.js writes those as style attributes, which the page's policy refuses. A common font: one of the page's is not there where the picture is looked at. */
async function picture(figure) {
  const [Plotly, all] = await Promise.all([load(holder.dataset.plotly), specs]);
  const style = getComputedStyle(document.documentElement);
  const { data, layout } = coloured(all[figure.dataset.chart], style);
  const said = lines(holder.dataset.said || "", 110);
  const room = 60 + 16 * said.split("<br>").length;
  const size = { width: WIDE, height: layout.height + room };
  const place = { xref: "paper", yref: "paper", x: 0, y: 1, xanchor: "left", yanchor: "top", align: "left", showarrow: false };
  return Plotly.toImage({ data, layout: {
    ...layout, ...size, template: {}, font: { ...layout.font, family: "sans-serif" }, paper_bgcolor: style.getPropertyValue("--surface").trim(),
    margin: { ...layout.margin, t: layout.margin.t + room },
    title: { text: lines(figure.querySelector("figcaption").firstElementChild.textContent, 90), x: 0, pad: { l: 12 }, y: 1 - 20 / size.height, yanchor: "middle", font: { size: 17 } },
    annotations: [...(layout.annotations || []), { ...place, text: said, font: { size: 12 }, yshift: room - 34 }],
  } }, { format: "svg", ...size });
}

/* PNG is drawn from the SVG here, since the page's policy refuses the blob that plotly.js would draw it from. */
async function png(svg) {
  const image = new Image();
  image.src = svg;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}

async function save(button) {
  const figure = button.closest("[data-chart]");
  const svg = await picture(figure);
  const url = button.dataset.as === "png" ? await png(svg) : svg;
  Object.assign(document.createElement("a"), { href: url, download: `l2-bench-${figure.dataset.chart}.${button.dataset.as}` }).click();
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

/* A box that is ticked asks at once; without scripts the button does. */
function submitting() {
  for (const form of document.querySelectorAll("[data-submits]")) {
    form.querySelector("button[type=submit]").hidden = true;
    form.addEventListener("change", () => form.submit());
  }
}

charts();
follow();
copying();
submitting();
for (const button of document.querySelectorAll("[data-as]")) button.addEventListener("click", () => save(button));
THEME.addEventListener("change", redraw);
const tasks = document.getElementById("tasks");
tasks?.addEventListener("click", onTableClick);
tasks?.addEventListener("submit", onTableForm);
