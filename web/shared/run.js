// A run as it is and as it goes: its attempts, heard live until it has ended, and the way to cancel it.
import { ActionProblem, useAction } from "./action.js";
import { Strip, Tally, words } from "./attempts.js";
import { Confirm } from "./dialog.js";
import { graphql } from "./graph.js";
import { html, useState } from "./html.js";
import { counted, reward } from "./numbers.js";
import { mayChange } from "./session.js";
import { useSubscription } from "./subscription.js";
import { Text } from "./text.js";
import { between, Time } from "./time.js";

export const RUN = graphql`
  fragment Run on EvaluationRun {
    id trigger resetMode seed attemptCount status unscoredAttempts failureDetail createdAt startedAt finishedAt
    passAtK { k estimate passHatK }
    evaluatorConfiguration { id name }
    trials { id attempt status reward failureCategory }
  }
`;

const RUN_UPDATED = /** @type {import("./graph.js").Operation<"RunUpdated">} */ (graphql`
  subscription RunUpdated($id: ID!) { evaluationRunUpdated(id: $id) { ...Run } }
  ${RUN}
`);

const CANCEL = /** @type {import("./graph.js").Operation<"CancelRun">} */ (graphql`
  mutation CancelRun($input: CancelEvaluationRunInput!) {
    cancelEvaluationRun(input: $input) {
      ... on EvaluationRun { ...Run }
      ... on Problem { message }
    }
  }
  ${RUN}
`);

/** @typedef {import("./graph.js").Result<"RunUpdated">["evaluationRunUpdated"]} Run */

/** @param {Pick<Run, "status">} run */
export const isOpen = ({ status }) => status === "QUEUED" || status === "RUNNING";

/** @param {Run} run */
export function origin({ trigger, resetMode }) {
  if (trigger === "RESET") return `Reset: ${words(resetMode ?? "")}`;
  return trigger === "IMPORT" ? "Import" : "Evaluation";
}

/** @param {Run} run */
function progress(run) {
  const ended = run.trials.filter(({ status }) => status !== "QUEUED" && status !== "RUNNING").length;
  if (!isOpen(run)) return run.startedAt ? `${words(run.status)} after ${between(run.startedAt, run.finishedAt)}` : words(run.status);
  return run.status === "QUEUED" ? "waiting for a worker" : `${ended} of ${counted(run.attemptCount, "attempt")} ended`;
}

/**
 * @param {{ run: Run, onChange: (run: Run) => void }} props `onChange` hears of every state that follows
 */
export function RunCard({ run, onChange }) {
  const [lost, setLost] = useState("");
  useSubscription(RUN_UPDATED, isOpen(run) ? { id: run.id } : null, {
    next: (data) => {
      setLost("");
      onChange(data.evaluationRunUpdated);
    },
    error: (error) => setLost(error.message),
  });
  const last = run.passAtK.at(-1);
  return html`<article class="run" id=${`run-${run.id}`} aria-label=${`${origin(run)}, seed ${run.seed}`}>
    <header>
      <h3>${origin(run)}</h3>
      <span class="status" role="status">${progress(run)}</span>
      <span class="facts">
        seed <code>${run.seed}</code>, <${Text} value=${run.evaluatorConfiguration.name} />, <${Time} at=${run.createdAt} />
      </span>
      ${isOpen(run) && mayChange() && html`<${Cancel} run=${run} onChange=${onChange} />`}
    </header>
    <${Strip} trials=${run.trials} label="Attempts of this run" />
    <p class="facts">
      <${Tally} trials=${run.trials} />
      ${last?.estimate != null &&
      html`<span>pass@1 ${reward(run.passAtK[0].estimate)}</span>
        ${last.k > 1 && html`<span>pass@${last.k} ${reward(last.estimate)}, pass^${last.k} ${reward(last.passHatK)}</span>`}`}
    </p>
    ${run.failureDetail && html`<p class="action-problem"><${Text} value=${run.failureDetail} /></p>`}
    ${lost && html`<p class="action-problem" role="alert">${lost} Reload the page for its state.</p>`}
  </article>`;
}

/** @param {{ run: Run, onChange: (run: Run) => void }} props */
function Cancel({ run, onChange }) {
  const [asking, setAsking] = useState(false);
  const { busy, problem, run: cancel } = useAction(CANCEL);

  async function confirmed() {
    const cancelled = await cancel({ evaluationRunId: run.id });
    setAsking(false);
    if (cancelled) onChange(cancelled);
  }

  return html`<span class="cancel">
    <button class="danger" onClick=${() => setAsking(true)}>Cancel</button>
    <${ActionProblem} problem=${problem} />
    <${Confirm}
      open=${asking}
      title="Cancel this run?"
      confirm="Cancel the run"
      busy=${busy}
      onConfirm=${confirmed}
      onClose=${() => setAsking(false)}
    >
      <p>Attempts that have ended stay. Those under way are stopped, and the run gets no pass@k.</p>
    <//>
  </span>`;
}
