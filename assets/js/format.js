// Numbers as a person reads them. An absent number is never shown as 0.
export const NONE = "–";

export function points(score) {
  return score == null ? NONE : `${(score * 100).toFixed(1)}%`;
}

// The two ends of an interval, such as 75.3–82.1%, as the result page writes them.
export function range(ends) {
  if (!ends) return NONE;
  return ends[0] < 0 ? `${points(ends[0])} … ${points(ends[1])}` : `${points(ends[0]).slice(0, -1)}–${points(ends[1])}`;
}

// A moment in the visitor's own time zone, in the page's language.
export function moment(seconds) {
  return new Date(seconds * 1000).toLocaleString(document.documentElement.lang || undefined, { dateStyle: "medium", timeStyle: "short" });
}

export function money(value) {
  if (value == null) return NONE;
  if (value === 0) return "$0";
  if (value < 0.01) return `$${value.toFixed(4)}`;
  return value < 100 ? `$${value.toFixed(2)}` : `$${Math.round(value).toLocaleString("en-US")}`;
}

export function count(value) {
  return value == null ? NONE : Math.round(value).toLocaleString("en-US");
}

// Student's t at 97.5 % for 1..30 degrees of freedom; beyond, the normal value with its first correction.
const T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042];

export function interval(n, sum, squares) {
  // A quick 95 % interval of a mean from its running sums, for the live page; the result page resamples.
  if (n < 5) return null;
  const mean = sum / n;
  const variance = Math.max(0, (squares - n * mean * mean) / (n - 1));
  if (variance < 1e-12) return null;
  const t = n - 1 <= 30 ? T[n - 2] : 1.96 + 2.37 / (n - 1);
  const half = t * Math.sqrt(variance / n);
  return [mean - half, Math.min(1, mean + half)];
}

export function duration(seconds, w) {
  if (seconds == null) return NONE;
  if (seconds < 90) return w.second_short.replace("{n}", Math.round(seconds));
  if (seconds < 5400) return w.minute_short.replace("{n}", Math.round(seconds / 60));
  return w.hour_short.replace("{n}", (seconds / 3600).toFixed(1));
}
