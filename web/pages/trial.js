// A trial: what it came to and why, its stages and executions, and the trajectory step by step.
import { styled } from "../shared/ansi.js";
import { go } from "../shared/address.js";
import { outcomeOf, Shape, Strip, words } from "../shared/attempts.js";
import { Short } from "../shared/code.js";
import { graphql } from "../shared/graph.js";
import { html, useEffect, useRef } from "../shared/html.js";
import { bytes, count, counted, reward } from "../shared/numbers.js";
import { Output } from "../shared/output.js";
import { Page } from "../shared/page.js";
import { Answered, Empty, NotFound } from "../shared/problem.js";
import { useQuery } from "../shared/query.js";
import { RecordedSteps } from "../shared/recorded.js";
import { STEP_PAGE, PAGE } from "../shared/steps.js";
import { useSubscription } from "../shared/subscription.js";
import { Table } from "../shared/table.js";
import { Text } from "../shared/text.js";
import { between, Time } from "../shared/time.js";
import { Trajectory } from "../shared/trajectory.js";

const TRIAL = /** @type {import("../shared/graph.js").Operation<"Trial">} */ (graphql`
  query Trial($id: ID!, $first: Int!) {
    evaluationTrial(id: $id) {
      id attempt seed status reward failureCategory failureDetail metrics redactions execution startedAt finishedAt
      stages { name value }
      executions { execution worker status reward failureCategory failureDetail startedAt endedAt recordedStepCount }
      rollout { id superseded }
      run { id trials { id attempt status reward } }
      environmentVersion { id version environment { slug name } }
      trajectory {
        artifactId artifactUrl agentTrajectoryUrl stepCount log
        atif { valid version errors }
        files { path bytes sha256 url omitted }
        steps(first: $first) { ...StepPage }
      }
    }
  }
  ${STEP_PAGE}
`);

const TRIAL_CHANGED = /** @type {import("../shared/graph.js").Operation<"TrialChanged">} */ (graphql`
  subscription TrialChanged($id: ID!) { evaluationRunUpdated(id: $id) { id trials { id attempt status reward execution } } }
`);

/** @typedef {NonNullable<import("../shared/graph.js").Result<"Trial">["evaluationTrial"]>} Trial */

/** @param {import("../routes.js").PageProps} props */
export default function TrialPage({ params }) {
  const answer = useQuery(TRIAL, { id: params.id, first: PAGE });
  const trial = answer.data?.evaluationTrial;
  if (answer.data && !trial) return html`<${Page} title="Trial"><${NotFound} what="trial" /><//>`;
  if (!trial) return html`<${Page} title="Trial"><${Answered} answer=${answer}>${() => null}<//><//>`;
  return html`<${Found} trial=${trial} answer=${answer} />`;
}

/** @param {{ trial: Trial, answer: import("../shared/query.js").Answer<"Trial"> }} props */
function Found({ trial, answer }) {
  const { environmentVersion: version, run } = trial;
  useLive(trial, answer);
  const crumbs = /** @type {[string, string][]} */ ([
    ["Environments", "/"],
    [version.environment.name, `/environments/${encodeURIComponent(version.environment.slug)}`],
    [`Version ${version.version}`, `/versions/${version.id}#run-${run.id}`],
  ]);
  const title = `${version.environment.name}, attempt ${trial.attempt}`;
  return html`<${Page} title=${title} crumbs=${crumbs} actions=${html`<${Neighbours} trial=${trial} />`}>
    <${Answered} answer=${answer}>
      ${() => html`
        <${Outcome} trial=${trial} />
        ${(trial.executions.length > 1 || recorded(trial).length > 0) && html`<${Executions} trial=${trial} />`}
        <${Left} trial=${trial} />
      `}
    <//>
  <//>`;
}

/** Asks again when the attempt goes on. @param {Trial} trial @param {import("../shared/query.js").Answer<"Trial">} answer */
function useLive(trial, answer) {
  const isOpen = trial.status === "QUEUED" || trial.status === "RUNNING";
  useSubscription(TRIAL_CHANGED, isOpen ? { id: trial.run.id } : null, {
    next: ({ evaluationRunUpdated: run }) => {
      const now = run.trials.find(({ id }) => id === trial.id);
      if (now && (now.status !== trial.status || now.execution !== trial.execution)) answer.refetch();
      else answer.update((data) => ({ ...data, evaluationTrial: data.evaluationTrial && { ...data.evaluationTrial, run } }));
    },
  });
}

/** The attempts before and after, also by the arrow keys with Shift. @param {{ trial: Trial }} props */
function Neighbours({ trial }) {
  const { trials } = trial.run;
  const place = trials.findIndex(({ id }) => id === trial.id);
  const [before, after] = [trials[place - 1], trials[place + 1]];
  const latest = useRef({ before, after });
  latest.current = { before, after };
  useEffect(() => {
    /** @param {KeyboardEvent} event */
    function pressed(event) {
      const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
      if (!event.shiftKey || event.ctrlKey || event.metaKey || event.altKey || typing) return;
      const to = event.key === "ArrowLeft" ? latest.current.before : event.key === "ArrowRight" ? latest.current.after : null;
      if (to) go(`/trials/${to.id}`);
    }
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  const compared = [trial, ...trials.filter(({ id }) => id !== trial.id)].slice(0, 4);
  const query = compared.sort((one, other) => one.attempt - other.attempt).map(({ id }) => `id=${id}`);
  return html`<nav class="neighbours" aria-label="Attempts">
    ${before && html`<a href=${`/trials/${before.id}`} rel="prev" aria-keyshortcuts="Shift+ArrowLeft" title="Shift and the left arrow">← Attempt ${before.attempt}</a>`}
    ${after && html`<a href=${`/trials/${after.id}`} rel="next" aria-keyshortcuts="Shift+ArrowRight" title="Shift and the right arrow">Attempt ${after.attempt} →</a>`}
    ${compared.length > 1 && html`<a href=${`/compare?${query.join("&")}`}>Compare ${compared.length} attempts</a>`}
  </nav>`;
}

/** @type {import("../shared/table.js").Column<Trial["stages"][number]>[]} */
const STAGES = [
  { title: "Stage", heading: true, cell: ({ name }) => html`<${Text} value=${name} />` },
  { title: "Value", numeric: true, cell: ({ value }) => reward(value) },
  { title: "Of 1", cell: ({ value }) => html`<meter min="0" max="1" value=${value} aria-hidden="true"></meter>` },
];

/** @param {{ trial: Trial }} props */
function Outcome({ trial }) {
  const outcome = outcomeOf(trial);
  const facts = /** @type {[string, import("../shared/html.js").Children][]} */ ([
    ["Status", words(trial.status)],
    ["Reward", trial.reward === null ? "none: unscored" : String(trial.reward)],
    ["Failure category", trial.failureCategory === null ? "none" : html`<${Text} value=${trial.failureCategory} />`],
    ["Executions", count(trial.execution)],
    ["Seed", html`<code>${trial.seed}</code>`],
    ["Started", html`<${Time} at=${trial.startedAt} />`],
    ["Duration", between(trial.startedAt, trial.finishedAt)],
    ["Secrets redacted", count(trial.redactions)],
    ["Trial", html`<${Short} value=${trial.id} />`],
  ]);
  return html`<section class="outcome" aria-label="Outcome">
    <div class="verdict">
      <${Shape} outcome=${outcome} />
      <p class="verdict-word">${outcome}</p>
      <p class="verdict-reward">${trial.reward === null ? words(trial.status) : `reward ${reward(trial.reward)}`}</p>
    </div>
    <div class="outcome-rest">
      ${trial.failureDetail && html`<p class="detail"><${Text} value=${trial.failureDetail} /></p>`}
      <dl class="fact-list">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
      <${Strip} trials=${trial.run.trials} label="Attempts of this run" />
    </div>
    ${trial.stages.length > 0
      ? html`<${Table} caption="Stages" showCaption columns=${STAGES} rows=${trial.stages} rowKey=${(/** @type {{ name: string }} */ { name }) => name} />`
      : html`<p class="hint no-stages">No stage_* metrics: no worker has written any for this attempt.</p>`}
  </section>`;
}

/** @type {import("../shared/table.js").Column<Trial["executions"][number]>[]} */
const EXECUTIONS = [
  { title: "Execution", heading: true, cell: ({ execution }) => execution },
  { title: "Status", cell: ({ status }) => words(status) },
  { title: "Reward", numeric: true, cell: (one) => reward(one.reward) },
  {
    title: "Why",
    cell: ({ failureCategory, failureDetail }) => html`<${Text} value=${failureCategory ?? "–"} />
      ${failureDetail && html`<span class="under"><${Text} value=${failureDetail} /></span>`}`,
  },
  { title: "Worker", cell: ({ worker }) => html`<${Text} value=${worker ?? "–"} />` },
  { title: "Started", cell: ({ startedAt }) => html`<${Time} at=${startedAt} />` },
  { title: "Took", numeric: true, cell: ({ startedAt, endedAt }) => between(startedAt, endedAt) },
];

/** Executions whose steps stand in no trajectory. @param {Trial} trial */
const recorded = ({ executions }) => executions.filter((one) => one.recordedStepCount > 0 || one.status === "RUNNING");

/** @param {{ trial: Trial }} props */
const Executions = ({ trial }) => html`<section>
  <h2>Executions <span class="hint">how often a worker has started this attempt; the latest is what it came to</span></h2>
  <${Table} caption="Executions" columns=${EXECUTIONS} rows=${trial.executions} rowKey=${(/** @type {{ execution: number }} */ one) => String(one.execution)} />
  ${recorded(trial).map(
    (one) => html`<${RecordedSteps} key=${one.execution} trialId=${trial.id} execution=${one.execution} recorded=${one.recordedStepCount} />`,
  )}
</section>`;

/** What the attempt left: files, its log, its steps. @param {{ trial: Trial }} props */
function Left({ trial }) {
  const memory = useRef(/** @type {import("../shared/output.js").Memory} */ (new Map()));
  const { trajectory } = trial;
  if (!trajectory) {
    const open = trial.status === "QUEUED" || trial.status === "RUNNING";
    return html`<${Empty} title=${open ? "No trajectory yet" : "No trajectory"}>
      <p>
        ${open
          ? "The attempt has not ended. Its log and steps appear here by themselves when it has."
          : "The attempt ended before a worker could store what it did; the outcome above says why."}
      </p>
    <//>`;
  }
  return html`
    <${Downloads} trial=${trial} trajectory=${trajectory} />
    <section>
      <h2>Log <span class="hint">${counted(trajectory.log.length, "character")}</span></h2>
      <details class="log">
        <summary>Show what agent, world and evaluator wrote</summary>
        <${Output} value=${trajectory.log} name="log" memory=${memory.current} />
      </details>
    </section>
    <section>
      <h2>Trajectory <span class="hint">${counted(trajectory.stepCount, "step")}</span></h2>
      ${trajectory.stepCount === 0
        ? html`<${Empty} title="No steps"><p>The agent asked nothing of the world. What it wrote is in the log.</p><//>`
        : html`<${Trajectory} trialId=${trial.id} stepCount=${trajectory.stepCount} first=${trajectory.steps} />`}
    </section>
  `;
}

/** @param {{ trial: Trial, trajectory: NonNullable<Trial["trajectory"]> }} props */
function Downloads({ trial, trajectory }) {
  const { atif, files } = trajectory;
  return html`<section>
    <h2>Downloads <span class="hint">PRIVATE to this organization</span></h2>
    <ul class="downloads">
      <li><a href=${trajectory.artifactUrl} download>trial-${trial.attempt}-trajectory.json</a> <span class="hint">log and steps</span></li>
      ${trial.rollout && html`<li><a href=${`/api/v1/rollouts/${trial.rollout.id}`} download=${`rollout-${trial.rollout.id}.json`}>The rollout</a> <span class="hint">reward and stages</span></li>`}
      ${trajectory.agentTrajectoryUrl &&
      html`<li><a href=${trajectory.agentTrajectoryUrl} download>agent-trajectory.json</a>
        <span class="hint">as the agent left it${atif && `, ${atif.valid ? `valid ${atif.version ?? ""}` : "not valid"}`}</span></li>`}
      ${files.map(
        ({ path, bytes: size, url, omitted }) => html`<li>
          ${url ? html`<a href=${url} download><${Text} value=${path} /></a>` : html`<${Text} value=${path} />`}
          <span class="hint">${bytes(Number(size))}${omitted && html`, left out: <${Text} value=${omitted} />`}</span>
        </li>`,
      )}
    </ul>
    ${atif &&
    atif.errors.length > 0 &&
    html`<details><summary>Why the agent's own trajectory is not valid</summary>
      <ul>${atif.errors.map((error) => html`<li>${styled(error)}</li>`)}</ul></details>`}
  </section>`;
}
