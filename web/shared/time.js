// Moments: how long ago, with the exact time behind it.
import { html, signal } from "./html.js";
import { duration } from "./numbers.js";

const MINUTE = 60_000;
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const ABSOLUTE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const STEPS = /** @type {[number, Intl.RelativeTimeFormatUnit][]} */ ([
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [30, "day"],
  [12, "month"],
  [Infinity, "year"],
]);

const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), MINUTE / 2);

/**
 * "5 minutes ago".
 * @param {number} milliseconds from then to now
 */
export function ago(milliseconds) {
  let value = Math.max(milliseconds, 0) / 1000;
  if (value < 10) return "just now";
  for (const [size, unit] of STEPS) {
    if (value < size) return RELATIVE.format(-Math.floor(value), unit);
    value /= size;
  }
  return "";
}

/** @param {{ at: string | null | undefined }} props an ISO 8601 moment; "–" without one */
export function Time({ at }) {
  if (!at) return html`<span>–</span>`;
  const then = new Date(at);
  return html`<time datetime=${at} title=${ABSOLUTE.format(then)}>${ago(Math.max(now.value, Date.now()) - then.getTime())}</time>`;
}

/** @param {string | null | undefined} from @param {string | null | undefined} to */
export const between = (from, to) =>
  from && to ? duration((new Date(to).getTime() - new Date(from).getTime()) / 1000) : "–";
