// Starting runs of a version: an evaluation, or a reset in a new workspace or a new world.
import { ActionProblem, useAction } from "./action.js";
import { Code } from "./code.js";
import { Dialog } from "./dialog.js";
import { graphql } from "./graph.js";
import { html, useState } from "./html.js";
import { counted } from "./numbers.js";
import { origin, RUN } from "./run.js";
import { mayChange, viewer } from "./session.js";
import { plain } from "./text.js";

const START = /** @type {import("./graph.js").Operation<"StartEvaluation">} */ (graphql`
  mutation StartEvaluation($input: StartEvaluationInput!) {
    startEvaluation(input: $input) {
      ... on EvaluationRun { ...Run }
      ... on Problem { message }
    }
  }
  ${RUN}
`);

const RESET = /** @type {import("./graph.js").Operation<"ResetEnvironment">} */ (graphql`
  mutation ResetEnvironment($input: ResetEnvironmentInput!) {
    resetEnvironment(input: $input) {
      ... on EvaluationRun { ...Run }
      ... on Problem { message }
    }
  }
  ${RUN}
`);

/** @typedef {{ id: string, name: string, attemptCount: number }} Configuration */
/** @typedef {import("./run.js").Run} Run */

/**
 * @param {{ versionId: string, configurations: Configuration[], onStarted: (run: Run) => void }} props
 */
export function StartRun({ versionId, configurations, onStarted }) {
  const [choosing, setChoosing] = useState(false);
  const [started, setStarted] = useState(/** @type {Run | null} */ (null));
  const reset = useAction(RESET);

  /** @param {Run} run */
  function told(run) {
    setChoosing(false);
    setStarted(run);
    onStarted(run);
  }

  /** @param {"NEW_WORKSPACE" | "NEW_WORLD"} mode */
  async function resetTo(mode) {
    setStarted(null);
    const run = await reset.run({ environmentVersionId: versionId, mode });
    if (run) told(run);
  }

  if (viewer.value && !mayChange()) return html`<p class="facts">Your role may look, and not start runs.</p>`;
  return html`<div class="start">
    <div class="actions">
      <button class="primary" onClick=${() => setChoosing(true)}>Start evaluation</button>
      <button disabled=${reset.busy} onClick=${() => resetTo("NEW_WORKSPACE")}>Reset: new workspace</button>
      <button disabled=${reset.busy} onClick=${() => resetTo("NEW_WORLD")}>Reset: new world</button>
    </div>
    <p role="status" class="facts">
      ${started &&
      html`${origin(started)} queued with ${counted(started.attemptCount, "attempt")}, seed ${started.seed}.
        <a href=${`#run-${started.id}`}>See it below</a>.`}
    </p>
    <${ActionProblem} problem=${reset.problem} />
    <${Dialog} open=${choosing} title="Start an evaluation" onClose=${() => setChoosing(false)}>
      <${Choice} versionId=${versionId} configurations=${configurations} onStarted=${told} />
    <//>
  </div>`;
}

/** @param {{ versionId: string, configurations: Configuration[], onStarted: (run: Run) => void }} props */
function Choice({ versionId, configurations, onStarted }) {
  const { busy, problem, run } = useAction(START);

  /** @param {SubmitEvent & { currentTarget: HTMLFormElement }} event */
  async function submit(event) {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const evaluatorConfigurationId = String(given.get("configuration"));
    const seed = String(given.get("seed")).trim() || null;
    const started = await run({ environmentVersionId: versionId, evaluatorConfigurationId, seed });
    if (started) onStarted(started);
  }

  if (configurations.length === 0) {
    return html`<p>There is no evaluator configuration yet: an agent's command line, and how often it is run. Make one:</p>
      <${Code} value=${"agentforge configuration create NAME --agent 'COMMAND {task} {mcp_config}' --attempts 8"} />`;
  }
  return html`<form class="form" onSubmit=${submit}>
    <label>
      Evaluator configuration
      <select name="configuration">
        ${configurations.map(
          ({ id, name, attemptCount }) =>
            html`<option value=${id}>${plain(name)} (${counted(attemptCount, "attempt")})</option>`,
        )}
      </select>
    </label>
    <label>
      Seed of the world <span class="hint">a whole number; 0 without one</span>
      <input name="seed" inputmode="numeric" pattern="-?[0-9]+" />
    </label>
    <${ActionProblem} problem=${problem} />
    <div class="actions"><button class="primary" disabled=${busy}>Start</button></div>
  </form>`;
}
