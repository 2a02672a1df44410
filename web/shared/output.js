// What an agent said or a world answered: JSON folded, ANSI coloured, long text foldable.
import { styled } from "./ansi.js";
import { html, useState } from "./html.js";
import { count, counted } from "./numbers.js";

const FOLDED = 800;
const FOLDED_LINES = 14;
const LONGEST_JSON = 400_000;
const OPEN_DEPTH = 3;
const OPEN_ENTRIES = 12;
const MOST_ENTRIES = 100;
// What a number of JavaScript cannot tell apart from its neighbours is shown as text, digit by digit.
const LONG_NUMBER = /[\d.]{16}|\d[eE][+-]?\d{3}/;

/**
 * What is folded and what is not, also while it is not shown.
 * @typedef {Map<string, boolean>} Memory
 */

/**
 * @param {Memory} memory
 * @param {string} name
 * @param {boolean} initial
 * @returns {[boolean, (value: boolean) => void]}
 */
function useKept(memory, name, initial) {
  const [, setCount] = useState(0);
  return [
    memory.get(name) ?? initial,
    (value) => {
      memory.set(name, value);
      setCount((before) => before + 1);
    },
  ];
}

/** The object or list that the text is as JSON; null for any other text. @param {string} text */
function parsed(text) {
  if (!/^\s*[[{]/.test(text) || text.length > LONGEST_JSON || LONG_NUMBER.test(text)) return null;
  try {
    return /** @type {object} */ (JSON.parse(text));
  } catch {
    return null;
  }
}

/**
 * @typedef {object} OutputProps
 * @property {string} value
 * @property {string} name of the place, for the memory
 * @property {Memory} memory
 * @property {RegExp | null} [find]
 */

/** @param {OutputProps} props */
export function Output({ value, name, memory, find = null }) {
  const [raw, setRaw] = useKept(memory, `${name} raw`, false);
  const object = parsed(value);
  if (object === null || raw) {
    return html`<${Lines} value=${value} name=${name} memory=${memory} find=${find} />
      ${object && html`<button class="quiet" onClick=${() => setRaw(false)}>Show as JSON</button>`}`;
  }
  return html`<div class="json">
    <button class="quiet raw" onClick=${() => setRaw(true)} title="Show the text as it came">Raw</button>
    <${Value} value=${object} name=${name} memory=${memory} find=${find} depth=${0} />
  </div>`;
}

/** Where the shown part ends: after some lines or characters. @param {string} value */
function fold(value) {
  let end = -1;
  for (let line = 0; line < FOLDED_LINES; line += 1) {
    end = value.indexOf("\n", end + 1);
    if (end === -1) break;
  }
  const characters = Math.min(end === -1 ? value.length : end, FOLDED);
  // No character of two halves is cut in the middle.
  const half = /[\ud800-\udbff]/.test(value.charAt(characters - 1)) && characters < value.length;
  return value.length - characters < FOLDED / 4 && end === -1 ? value.length : characters - Number(half);
}

/** @param {OutputProps} props */
function Lines({ value, name, memory, find = null }) {
  const end = fold(value);
  const long = end < value.length;
  const hidden = long && find !== null && value.slice(end).search(find) !== -1;
  const [open, setOpen] = useKept(memory, name, hidden);
  if (value === "") return html`<p class="hint">empty</p>`;
  return html`<div class="lines">
    <pre dir="ltr"><bdi>${styled(long && !open ? value.slice(0, end) : value, find)}</bdi></pre>
    ${long &&
    html`<button class="quiet" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      ${open ? "Fold" : `Show all ${count(value.length)} characters`}
    </button>`}
  </div>`;
}

/** @typedef {{ value: unknown, label?: string, name: string, memory: Memory, find: RegExp | null, depth: number }} ValueProps */

/** @param {ValueProps} props */
function Value(props) {
  const { value, label, find } = props;
  const key = label !== undefined && html`<span class="json-key">${styled(label, find)}: </span>`;
  if (typeof value === "object" && value !== null) return html`<${Container} ...${props} value=${value} />`;
  if (typeof value === "string" && (value.length > 100 || value.includes("\n") || parsed(value))) {
    return html`<div class="json-line">${key}
      <div class="json-text"><${Output} value=${value} name=${props.name} memory=${props.memory} find=${find} /></div>
    </div>`;
  }
  return html`<div class="json-line">${key}<span class=${`json-${typeof value}`}>${styled(JSON.stringify(value), find)}</span></div>`;
}

/** @param {ValueProps & { value: object }} props */
function Container({ value, label, name, memory, find, depth }) {
  const entries = Object.entries(value);
  const [open, setOpen] = useKept(memory, name, depth < OPEN_DEPTH && entries.length <= OPEN_ENTRIES);
  const [all, setAll] = useKept(memory, `${name} all`, false);
  const isList = Array.isArray(value);
  const size = isList ? `[ ${counted(entries.length, "element")} ]` : `{ ${counted(entries.length, "key")} }`;
  const shown = all ? entries : entries.slice(0, MOST_ENTRIES);
  return html`<details class="json-container" open=${open} onToggle=${(/** @type {Event & { currentTarget: HTMLDetailsElement }} */ event) => {
    if (event.currentTarget.open !== open) setOpen(event.currentTarget.open);
  }}>
    <summary>
      ${label !== undefined && html`<span class="json-key">${styled(label, find)}: </span>`}<span class="hint">${size}</span>
    </summary>
    ${open &&
    shown.map(
      ([key, one]) =>
        html`<${Value} key=${key} label=${key} value=${one} name=${`${name}/${key}`} memory=${memory} find=${find} depth=${depth + 1} />`,
    )}
    ${open &&
    shown.length < entries.length &&
    html`<button class="quiet" onClick=${() => setAll(true)}>Show all ${count(entries.length)}</button>`}
  </details>`;
}
