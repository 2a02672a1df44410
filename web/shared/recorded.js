// Steps of an execution that has no trajectory: of one that is running, so far; of one that was lost, until then.
import { graphql, request } from "./graph.js";
import { html, useRef, useState } from "./html.js";
import { count, counted } from "./numbers.js";
import { ErrorBox } from "./problem.js";
import { PAGE, STEP_PAGE } from "./steps.js";
import { StepContent } from "./trajectory.js";

const RECORDED_STEPS = /** @type {import("./graph.js").Operation<"RecordedSteps">} */ (graphql`
  query RecordedSteps($id: ID!, $first: Int!, $after: String) {
    evaluationTrial(id: $id) {
      id
      executions { execution recordedStepCount recordedSteps(first: $first, after: $after) { ...StepPage } }
    }
  }
  ${STEP_PAGE}
`);

/** @typedef {{ steps: import("./steps.js").Step[], after: string | null, total: number, busy: boolean, error: Error | null }} Recorded */

/**
 * @param {{ trialId: string, execution: number, recorded: number }} props `recorded`: how many there were when the page was asked for
 */
export function RecordedSteps({ trialId, execution, recorded }) {
  const [state, setState] = useState(/** @type {Recorded} */ ({ steps: [], after: null, total: recorded, busy: false, error: null }));
  const memory = useRef(/** @type {import("./output.js").Memory} */ (new Map()));

  async function more() {
    setState((before) => ({ ...before, busy: true }));
    try {
      const answer = await request(RECORDED_STEPS, { id: trialId, first: PAGE, after: state.after });
      const found = answer.evaluationTrial?.executions.find((one) => one.execution === execution);
      const { edges = [], pageInfo } = found?.recordedSteps ?? {};
      setState((before) => ({
        steps: [...before.steps, ...edges.map(({ node }) => node)],
        after: pageInfo?.endCursor ?? before.after,
        total: found?.recordedStepCount ?? before.total,
        busy: false,
        error: null,
      }));
    } catch (error) {
      setState((before) => ({ ...before, busy: false, error: /** @type {Error} */ (error) }));
    }
  }

  /** @param {Event & { currentTarget: HTMLDetailsElement }} event */
  function toggled(event) {
    if (event.currentTarget.open && state.steps.length === 0 && !state.busy) void more();
  }

  const left = state.total - state.steps.length;
  return html`<details class="recorded" onToggle=${toggled}>
    <summary>Execution ${execution}: ${counted(Math.max(state.total, state.steps.length), "step")} recorded</summary>
    ${state.steps.map(
      (step, index) => html`<article class="step" key=${step.step} aria-label=${`Execution ${execution}, step ${step.step}`}>
        <span class="step-number">${count(step.step)}</span>
        <${StepContent} index=${index} step=${step} memory=${memory.current} find=${null} />
      </article>`,
    )}
    ${state.error && html`<${ErrorBox} error=${state.error} retry=${more} />`}
    <button onClick=${more} disabled=${state.busy}>${left > 0 ? `Show more of ${count(left)}` : "Look for further ones"}</button>
  </details>`;
}
