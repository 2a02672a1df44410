// Text that somebody else wrote: shown as text, with what would hide or turn it around made visible.
import { html, useState } from "./html.js";
import { count } from "./numbers.js";

// Marks that change the direction of what follows, invisible characters, and control characters but tab and newline. The
// joiners U+200C and U+200D are not among them: emoji and several scripts are written with them.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/u;
const FOLDED = 2_000;

/** @param {string} character */
const code = (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/**
 * The text in parts: plain ones, and one for each unseen character.
 * @param {string} value
 */
export function visible(value) {
  const lines = value.replaceAll("\r\n", "\n");
  if (!UNSEEN.test(lines)) return [lines];
  return lines.split(new RegExp(`(${UNSEEN.source})`, "u")).map((part) =>
    part !== "" && UNSEEN.test(part)
      ? html`<span class="unseen" title="An invisible character">${code(part)}</span>`
      : part,
  );
}

/** The same as a string, for titles and choices, which have no parts. @param {string} value */
export const plain = (value) => value.replaceAll(new RegExp(UNSEEN.source, "gu"), code);

/**
 * A short text within a line.
 * @param {{ value: string }} props
 */
export const Text = ({ value }) => html`<bdi class="text">${visible(value)}</bdi>`;

/**
 * A long text with its own lines; beyond the first characters it unfolds when asked.
 * @param {{ value: string, folded?: number }} props `folded`: how many characters show at first
 */
export function LongText({ value, folded = FOLDED }) {
  const [open, setOpen] = useState(false);
  const long = value.length > folded;
  const shown = long && !open ? value.slice(0, folded) : value;
  return html`<div class="long-text">
    <pre dir="ltr"><bdi>${visible(shown)}</bdi></pre>
    ${long &&
    html`<button class="quiet" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      ${open ? "Fold" : `Show all ${count(value.length)} characters`}
    </button>`}
  </div>`;
}
