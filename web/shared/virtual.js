// A list of very many rows of different heights, of which those in sight are in the document. It scrolls with the page.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";

const AROUND = 800;

/** Where rows begin: as high as they were when they were shown, and as estimated before. */
class Heights {
  /** @param {number} count @param {number} estimate */
  constructor(count, estimate) {
    this.heights = new Float64Array(count).fill(estimate);
    this.tops = new Float64Array(count + 1);
    this.changed = true;
  }

  /** @param {number} index @param {number} height */
  set(index, height) {
    if (Math.abs(this.heights[index] - height) < 0.5) return;
    this.heights[index] = height;
    this.changed = true;
  }

  /** The top of a row, or the end. @param {number} index */
  top(index) {
    if (this.changed) {
      for (let row = 0; row < this.heights.length; row += 1) this.tops[row + 1] = this.tops[row] + this.heights[row];
      this.changed = false;
    }
    return this.tops[index];
  }

  /** The row at this distance from the top. @param {number} distance */
  at(distance) {
    this.top(0);
    let low = 0;
    let high = this.heights.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle] <= distance) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/**
 * @param {{ count: number, estimate: number, label: string, row: (index: number) => import("./html.js").Children,
 *   target: { index: number } | null, isReady: (index: number) => boolean, onRange: (from: number, to: number) => void }} props
 *   `row`: the content of an `li`; `target`: what to scroll to, anew with each object; `onRange`: hears what is in sight
 */
export function Virtual({ count, estimate, label, row, target, isReady, onRange }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const heights = useRef(/** @type {Heights | null} */ (null));
  if (heights.current?.heights.length !== count) heights.current = new Heights(count, estimate);
  const known = heights.current;
  const [range, setRange] = useState({ from: 0, to: Math.min(count, 20) });
  const seeking = useRef(/** @type {number | null} */ (null));
  const held = useRef(/** @type {{ index: number, y: number } | undefined} */ (undefined));

  const rows = () => /** @type {HTMLElement[]} */ ([...(element.current?.querySelectorAll("li[data-index]") ?? [])]);

  /** @param {number} index */
  const shown = (index) => element.current?.querySelector(`li[data-index="${index}"]`) ?? null;

  /** Notes which row is at the top of the window, and where. */
  function note() {
    const row = rows().find((one) => one.getBoundingClientRect().bottom > 0);
    held.current = row && { index: Number(row.dataset.index), y: row.getBoundingClientRect().top + scrollY };
  }

  /** Keeps that row where it was when what is above it turns out to be of another height than estimated. */
  function hold() {
    const row = held.current && shown(held.current.index);
    if (!row || !held.current) return;
    const moved = row.getBoundingClientRect().top + scrollY - held.current.y;
    if (Math.abs(moved) >= 1) scrollBy({ top: moved, behavior: "instant" });
  }

  function look() {
    if (!element.current) return;
    // Where rows begin is read off those in the document; what they were a moment ago would name others.
    for (const row of rows()) known.set(Number(row.dataset.index), row.getBoundingClientRect().height);
    const above = -element.current.getBoundingClientRect().top;
    const from = known.at(above - AROUND);
    const to = Math.min(known.at(above + innerHeight + AROUND) + 1, count);
    note();
    setRange((before) => (before.from === from && before.to === to ? before : { from, to }));
  }

  useEffect(() => {
    const observer = new ResizeObserver(() => {
      hold();
      look();
    });
    /** @type {any} */ (element.current).observer = observer;
    for (const one of rows()) observer.observe(one);
    const stop = () => (seeking.current = null);
    const listening = new AbortController();
    const passive = { passive: true, signal: listening.signal };
    addEventListener("scroll", look, passive);
    addEventListener("resize", look, passive);
    for (const by of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(by, stop, passive);
    document.documentElement.style.overflowAnchor = "none";
    look();
    return () => {
      document.documentElement.style.overflowAnchor = "";
      observer.disconnect();
      listening.abort();
    };
  }, [known]);

  useEffect(() => onRange(range.from, range.to), [range]);

  useLayoutEffect(() => {
    if (target === null || !element.current) return;
    seeking.current = target.index;
    held.current = undefined;
    scrollTo({ top: scrollY + element.current.getBoundingClientRect().top + known.top(target.index), behavior: "instant" });
    look();
  }, [target]);

  useLayoutEffect(() => {
    const sought = seeking.current === null ? null : shown(seeking.current);
    if (sought) sought.scrollIntoView({ block: "start", behavior: "instant" });
    else hold();
    if (sought && isReady(Number(seeking.current))) seeking.current = null;
    note();
  });

  const indices = Array.from({ length: Math.max(range.to - range.from, 0) }, (_, offset) => range.from + offset);
  return html`<div class="virtual" ref=${element}>
    <div style=${{ height: `${known.top(Math.min(range.from, count))}px` }}></div>
    <ol aria-label=${label}>
      ${indices.map(
        (index) => html`<${Row} key=${index} index=${index} count=${count} list=${element}>${row(index)}<//>`,
      )}
    </ol>
    <div style=${{ height: `${known.top(count) - known.top(Math.min(range.to, count))}px` }}></div>
  </div>`;
}

/** @param {{ index: number, count: number, list: { current: any }, children: import("./html.js").Children }} props */
function Row({ index, count, list, children }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const observer = /** @type {ResizeObserver | undefined} */ (list.current?.observer);
    const mine = element.current;
    if (!mine) return undefined;
    observer?.observe(mine);
    return () => observer?.unobserve(mine);
  }, []);
  return html`<li ref=${element} data-index=${index} aria-setsize=${count} aria-posinset=${index + 1}>${children}</li>`;
}
