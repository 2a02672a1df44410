// Attempts as a strip: what each came to, told by shape and text, with colour only beside them.
import { html } from "./html.js";
import { reward as written } from "./numbers.js";

/** @typedef {"passed" | "partial" | "failed" | "unscored" | "running" | "queued"} Outcome */
/** @typedef {{ id: string, attempt: number, status: string, reward: number | null }} Attempt */

/** In the order of legends. */
export const OUTCOMES = /** @type {const} */ (["passed", "partial", "failed", "unscored", "running", "queued"]);

/** @param {{ status: string, reward: number | null }} trial @returns {Outcome} */
export function outcomeOf({ status, reward }) {
  if (status === "QUEUED") return "queued";
  if (status === "RUNNING") return "running";
  if (reward === null) return "unscored";
  if (reward === 1) return "passed";
  return reward > 0 ? "partial" : "failed";
}

const SHAPES = /** @type {Record<Outcome, import("./html.js").Markup>} */ ({
  passed: html`<circle cx="8" cy="8" r="7" class="solid" /><path d="M4.6 8.2l2.3 2.3 4.4-4.8" class="cut" />`,
  partial: html`<circle cx="8" cy="8" r="6.2" class="line" /><path d="M1.8 8a6.2 6.2 0 0 0 12.4 0z" class="solid" />`,
  failed: html`<rect x="1.8" y="1.8" width="12.4" height="12.4" class="line" /><path d="M5 5l6 6M11 5l-6 6" class="line" />`,
  unscored: html`<circle cx="8" cy="8" r="6.2" class="line dashed" /><path d="M5 8h6" class="line" />`,
  running: html`<circle cx="8" cy="8" r="6.2" class="line faint" /><path d="M8 1.8a6.2 6.2 0 0 1 6.2 6.2" class="line turning" />`,
  queued: html`<circle cx="8" cy="8" r="2" class="solid" />`,
});

/** @param {{ outcome: Outcome }} props */
export const Shape = ({ outcome }) =>
  html`<svg class=${`shape ${outcome}`} viewBox="0 0 16 16" aria-hidden="true">${SHAPES[outcome]}</svg>`;

/** @param {string} status such as TIMED_OUT */
export const words = (status) => status.toLowerCase().replaceAll("_", " ");

/** What is written below the shape. @param {Attempt} trial */
function below(trial) {
  const outcome = outcomeOf(trial);
  if (outcome === "queued") return "·";
  if (outcome === "running") return "…";
  return outcome === "unscored" ? "n/a" : written(trial.reward);
}

/** @param {Attempt} trial */
function described(trial) {
  const outcome = outcomeOf(trial);
  const scored = trial.reward === null ? "" : `, reward ${written(trial.reward)}`;
  const ended = outcome === words(trial.status) || trial.status === "COMPLETED" ? "" : `, ${words(trial.status)}`;
  return `Attempt ${trial.attempt}: ${outcome}${ended}${scored}`;
}

/**
 * One cell for each attempt, each a link to its trial.
 * @param {{ trials: Attempt[], label?: string }} props
 */
export const Strip = ({ trials, label = "Attempts" }) => html`<ol class="strip" aria-label=${label}>
  ${trials.map(
    (trial) => html`<li key=${trial.id}>
      <a href=${`/trials/${trial.id}`} class=${`attempt ${outcomeOf(trial)}`} title=${described(trial)} aria-label=${described(trial)}>
        <${Shape} outcome=${outcomeOf(trial)} /><span aria-hidden="true">${below(trial)}</span>
      </a>
    </li>`,
  )}
</ol>`;

/** How often each outcome occurs. @param {{ trials: Attempt[] }} props */
export function Tally({ trials }) {
  const found = OUTCOMES.map((outcome) => ({
    outcome,
    times: trials.filter((trial) => outcomeOf(trial) === outcome).length,
  })).filter(({ times }) => times > 0);
  return html`<span class="tally">
    ${found.map(({ outcome, times }) => html`<span><${Shape} outcome=${outcome} /> ${times} ${outcome}</span>`)}
  </span>`;
}
