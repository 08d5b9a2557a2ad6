// Words of the page, by language. Fills elements marked data-w; text is always set as text.
import { get } from "./net.js";
import { learn } from "./said.js";

let table = null;

export function language() {
  const asked = new URLSearchParams(location.search).get("lang");
  for (const tag of [asked, ...(navigator.languages || [navigator.language])]) {
    const low = (tag || "").toLowerCase();
    if (low.startsWith("zh") && !/tw|hk|mo|hant/.test(low)) return "zh-CN";
    const base = low.split("-")[0];
    if (base === "es" || base === "en") return base;
  }
  return "en";
}

// The language that this address asks for, to be carried to another page; "" where the browser's own is used.
export function carried() {
  const asked = new URLSearchParams(location.search).get("lang");
  return asked ? `?lang=${encodeURIComponent(asked)}` : "";
}

export function words() {
  const lang = language();
  table ||= Promise.all([get(`/static/words/${lang}.json`), learn(lang)]).then(([found]) => found);
  return table;
}

export function say(w, key, values = {}) {
  let text = w[key] ?? key;
  for (const [name, value] of Object.entries(values)) text = text.replaceAll(`{${name}}`, String(value));
  return text;
}

export function fill(root, w) {
  for (const node of root.querySelectorAll("[data-w]")) node.textContent = say(w, node.dataset.w);
  for (const node of root.querySelectorAll("[data-w-label]")) node.setAttribute("aria-label", say(w, node.dataset.wLabel));
}

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c != null));
  return node;
}
