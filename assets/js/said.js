// Sentences of a run's record in the visitor's language; the same rule as ui/words/said.py. What no template fits stays.
let book = null;
const NUMBERS = new Set(["n", "of", "seed"]);

// The templates of one language, English first; none for English itself.
export async function learn(lang) {
  const rows = lang === "en" ? {} : await fetch(`/static/words/said.${lang}.json`).then((r) => r.json()).catch(() => ({}));
  const bare = (key) => key.replace(/\{\w+\}/g, "").length;
  const open = Object.keys(rows).filter((key) => key.includes("{")).sort((a, b) => bare(b) - bare(a));
  book = { rows, open: open.map((key) => [new RegExp(`^${pattern(key)}$`, "s"), rows[key]]) };
}

function pattern(key) {
  return key.split(/(\{\w+\})/).map((part) => (/^\{\w+\}$/.test(part) ? `(?<${part.slice(1, -1)}>${NUMBERS.has(part.slice(1, -1)) ? "[\\d.,]+" : ".+?"})` : part.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"))).join("");
}

export function translated(text) {
  if (!book?.open.length || !text) return text;
  const whole = one(text);
  if (whole != null) return whole;
  const parts = text.split(/(?<=[.!?:])(\s+)/);
  let found = "", at = 0;
  while (at < parts.length) {
    let end = at + 1, words = null;
    for (; end <= parts.length && words == null; end += 2) words = one(parts.slice(at, end).join(""));
    if (words == null) { words = parts[at]; end = at + 1; } else end -= 2;
    found += words + (words.endsWith("。") ? "" : parts[end] ?? "");
    at = end + 1;
  }
  return found;
}

function one(text) {
  if (Object.hasOwn(book.rows, text)) return book.rows[text];
  for (const [test, words] of book.open) {
    const match = test.exec(text);
    if (match) return words.replace(/\{(\w+)\}/g, (_, name) => translated(match.groups[name]));
  }
  return null;
}
