// A trajectory as steps: only those in sight are in the document, each has a link, and all can be searched.
import { styled, finding } from "./ansi.js";
import { returns } from "./connection.js";
import { html, useEffect, useMemo, useRef, useState } from "./html.js";
import { count, counted } from "./numbers.js";
import { Output } from "./output.js";
import { ErrorBox } from "./problem.js";
import { Steps } from "./steps.js";
import { Virtual } from "./virtual.js";

/** Of a step, as estimated before it is shown; in pixels. */
export const HEIGHT = 150;
const PAUSE = 250;

/** The index that the address names, as #step-7 does. */
function named() {
  const found = /^#step-(\d{1,9})$/.exec(location.hash);
  return found ? Number(found[1]) - 1 : null;
}

/** @param {number} total */
export function useNamedStep(total) {
  const [target, setTarget] = useState(/** @type {{ index: number } | null} */ (null));
  useEffect(() => {
    const look = () => {
      const index = named();
      setTarget(index !== null && index >= 0 && index < total ? { index } : null);
    };
    look();
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, [total]);
  return target;
}

/** Goes to a step by its address, without an entry in the history for each. @param {number} index */
function show(index) {
  history.replaceState(null, "", `${location.pathname}${location.search}#step-${index + 1}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/**
 * @param {{ trialId: string, stepCount: number, first: import("./steps.js").Connection }} props `first`: its first page
 */
export function Trajectory({ trialId, stepCount, first }) {
  const steps = useMemo(() => new Steps(trialId, stepCount, first), [trialId, stepCount]);
  const memory = useRef(/** @type {import("./output.js").Memory} */ (new Map()));
  const [words, setWords] = useState("");
  const find = useMemo(() => finding(words), [words]);
  const target = useNamedStep(stepCount);
  const wanted = useRef([0, 0]);
  void steps.changed.value;
  const look = (/** @type {number} */ from, /** @type {number} */ to) => {
    wanted.current = [from, to];
    steps.want(from, to);
  };
  useEffect(() => returns.subscribe(() => steps.error.value && look(wanted.current[0], wanted.current[1])), [steps]);
  return html`<div class="trajectory">
    <${Find} steps=${steps} words=${words} setWords=${setWords} find=${find} at=${target?.index ?? null} />
    ${steps.error.value &&
    html`<${ErrorBox} error=${steps.error.value} retry=${() => steps.want(wanted.current[0], wanted.current[1])} />`}
    <${Virtual}
      count=${stepCount}
      estimate=${HEIGHT}
      label="Steps"
      target=${target}
      isReady=${(/** @type {number} */ index) => steps.at(index) !== undefined}
      onRange=${look}
      row=${(/** @type {number} */ index) =>
        html`<${Shown}
          index=${index}
          step=${steps.at(index)}
          memory=${memory.current}
          find=${find}
          isNamed=${target?.index === index}
        />`}
    />
  </div>`;
}

/**
 * @param {{ index: number, step: import("./steps.js").Step | undefined, memory: import("./output.js").Memory,
 *   find: RegExp | null, isNamed: boolean }} props
 */
function Shown({ index, step, memory, find, isNamed }) {
  const number = index + 1;
  return html`<article class=${`step ${isNamed ? "named" : ""}`} id=${`step-${number}`} aria-label=${`Step ${number}`}>
    <a class="step-number" href=${`#step-${number}`} title="A link to this step">${count(number)}</a>
    ${step
      ? html`<${StepContent} index=${index} step=${step} memory=${memory} find=${find} />`
      : html`<p class="loading step-content">Loading this step…</p>`}
  </article>`;
}

/**
 * What was asked, and the answer.
 * @param {{ index: number, step: import("./steps.js").Step, memory: import("./output.js").Memory, find: RegExp | null }} props
 */
export const StepContent = ({ index, step, memory, find }) => html`<div class="step-content">
  <div class="step-action">
    <strong class="tool"><bdi>${styled(step.tool, find)}</bdi></strong>
    <${Output} value=${step.command} name=${`${index} command`} memory=${memory} find=${find} />
  </div>
  <div class="step-observation">
    <${Output} value=${step.observation} name=${`${index} observation`} memory=${memory} find=${find} />
  </div>
</div>`;

/** @typedef {{ found: number[], searched: number, error: Error | null }} Search */

const NOTHING = /** @type {Search} */ ({ found: [], searched: 0, error: null });

/**
 * Finds words in all steps; Enter goes to the next step that has them, Shift+Enter to the one before.
 * @param {{ steps: Steps, words: string, setWords: (words: string) => void, find: RegExp | null, at: number | null }} props
 */
function Find({ steps, words, setWords, find, at }) {
  const [{ found, searched, error }, setSearch] = useState(NOTHING);
  const typed = useRef(0);
  useEffect(() => {
    setSearch(NOTHING);
    if (find === null) return undefined;
    const stop = new AbortController();
    steps
      .search(find, stop.signal, (found, searched) => setSearch({ found, searched, error: null }))
      .catch((error) => !stop.signal.aborted && setSearch((before) => ({ ...before, error })));
    return () => stop.abort();
  }, [steps, find]);

  /** @param {boolean} forward */
  function next(forward) {
    const from = at ?? (forward ? -1 : steps.count);
    const follows = forward ? found.find((one) => one > from) : found.findLast((one) => one < from);
    const index = follows ?? found.at(forward ? 0 : -1);
    if (index !== undefined) show(index);
  }

  /** @param {InputEvent & { currentTarget: HTMLInputElement }} event */
  function type(event) {
    const { value } = event.currentTarget;
    clearTimeout(typed.current);
    typed.current = setTimeout(() => setWords(value), PAUSE);
  }

  const place = at === null ? -1 : found.indexOf(at);
  return html`<form class="find" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <label>
      <span>Find within</span>
      <input
        type="search"
        placeholder=${`${counted(steps.count, "step")}`}
        onInput=${type}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && next(!event.shiftKey)}
      />
    </label>
    <button type="button" disabled=${found.length === 0} onClick=${() => next(false)}>Previous</button>
    <button type="button" disabled=${found.length === 0} onClick=${() => next(true)}>Next</button>
    <span class="hint" role="status">
      ${words !== "" &&
      (error
        ? `The search broke off: ${error.message}`
        : `${place >= 0 ? `${count(place + 1)} of ` : ""}${counted(found.length, "step")} ${
            searched < steps.count ? `in the first ${count(searched)}…` : "found"
          }`)}
    </span>
    <label class="jump">
      <span>Step</span>
      <input
        type="number"
        min="1"
        max=${steps.count}
        onChange=${(/** @type {Event & { currentTarget: HTMLInputElement }} */ event) => {
          const number = Number(event.currentTarget.value);
          if (Number.isInteger(number) && number >= 1 && number <= steps.count) show(number - 1);
        }}
      />
    </label>
  </form>`;
}
