// A download that shows how far it is, and saves a file only when it is whole.
import { html, useEffect, useRef, useState } from "./html.js";
import { bytes, count, counted } from "./numbers.js";

const LINE_FEED = 10;
const KEPT_APART = 64;
const BETWEEN_TELLING = 100;

/** @typedef {{ state: "idle" | "busy" | "done" | "failed", lines: number, bytes: number, why?: string }} Progress */

const IDLE = /** @type {Progress} */ ({ state: "idle", lines: 0, bytes: 0 });

/** @param {Uint8Array} chunk */
function linesIn(chunk) {
  let lines = 0;
  for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) lines += 1;
  return lines;
}

/** Why the service does not send it. @param {Response} response */
async function refusal(response) {
  const problem = await response.json().catch(() => ({}));
  return String(problem.detail ?? `The service answered ${response.status}.`);
}

/**
 * The whole body, told of as it comes. Throws when it breaks off or is refused.
 * @param {string} url
 * @param {AbortSignal} signal
 * @param {(lines: number, bytes: number) => void} tell
 */
async function whole(url, signal, tell) {
  const response = await fetch(url, { signal });
  if (!response.ok || !response.body) throw new Error(await refusal(response));
  const reader = response.body.getReader();
  let parts = /** @type {BlobPart[]} */ ([]);
  let [lines, size, told] = [0, 0, 0];
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    parts.push(read.value);
    // The browser may put a Blob on disk, and cannot do so with what we hold ourselves.
    if (parts.length >= KEPT_APART) parts = [new Blob(parts)];
    lines += linesIn(read.value);
    size += read.value.length;
    if (performance.now() - told > BETWEEN_TELLING) {
      told = performance.now();
      tell(lines, size);
    }
  }
  return { content: new Blob(parts, { type: "application/x-ndjson" }), lines, bytes: size };
}

/** @param {Blob} content @param {string} filename */
function save(content, filename) {
  const href = URL.createObjectURL(content);
  Object.assign(document.createElement("a"), { href, download: filename }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/**
 * To be keyed by its url: what it tells of one download is not true of another.
 * @param {{ url: string, filename: string, total: number | undefined, label: string }} props `total`: lines expected
 */
export function Download({ url, filename, total, label }) {
  const [progress, setProgress] = useState(IDLE);
  const stop = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => stop.current?.abort(), []);

  async function start() {
    const stopping = new AbortController();
    stop.current = stopping;
    setProgress({ ...IDLE, state: "busy" });
    try {
      const tell = (/** @type {number} */ lines, /** @type {number} */ size) => setProgress({ state: "busy", lines, bytes: size });
      const got = await whole(url, stopping.signal, tell);
      save(got.content, filename);
      setProgress({ state: "done", lines: got.lines, bytes: got.bytes });
    } catch (error) {
      if (stopping.signal.aborted) return setProgress(IDLE);
      const why = error instanceof TypeError ? "The transfer broke off." : /** @type {Error} */ (error).message;
      setProgress((before) => ({ ...before, state: "failed", why }));
    }
  }

  return html`<div class="download">
    ${progress.state === "busy"
      ? html`<button onClick=${() => stop.current?.abort()} aria-label=${`Stop: ${label}`}>Stop</button>
          <progress max=${total || undefined} value=${total ? Math.min(progress.lines, total) : undefined} aria-label=${label}></progress>`
      : html`<button onClick=${start} disabled=${total === 0} aria-label=${label}>Download</button>`}
    <span class="hint" role="status">${told(progress, total, filename)}</span>
    ${progress.state === "failed" && html`<p class="action-problem" role="alert">${progress.why} Nothing was saved; try again.</p>`}
  </div>`;
}

/** @param {Progress} progress @param {number | undefined} total @param {string} filename */
function told({ state, lines, bytes: size }, total, filename) {
  if (state === "busy") return `${count(lines)}${total ? ` of ${count(total)}` : ""} lines, ${bytes(size)}`;
  return state === "done" ? `Saved ${filename}: ${counted(lines, "line")}, ${bytes(size)}` : "";
}
