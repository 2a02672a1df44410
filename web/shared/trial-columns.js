// The columns that the explorer of trials can have; which it has stands in the address.
import { address, setQuery } from "./address.js";
import { outcomeOf, Shape, words } from "./attempts.js";
import { html } from "./html.js";
import { count, reward } from "./numbers.js";
import { Text } from "./text.js";
import { between, Time } from "./time.js";
import { filterBy } from "./trial-filter.js";

/** @typedef {import("./graph.js").Result<"Trials">["evaluationTrials"]["edges"][number]["node"]} Row */
/** @typedef {import("./table.js").Column<Row>} Column */

const ORDERS = /** @type {const} */ ({ reward: ["REWARD_HIGHEST", "REWARD_LOWEST"], created: ["NEWEST", "OLDEST"] });
const USUAL = ["outcome", "reward", "category", "stages", "started", "duration"];

/** @param {keyof typeof ORDERS} by @returns {Pick<Column, "sorted" | "sort">} */
function sorting(by) {
  const [down, up] = ORDERS[by];
  const now = address.value.query.get("orderBy") ?? "NEWEST";
  return {
    sorted: now === down ? "descending" : now === up ? "ascending" : null,
    sort: () => filterBy({ orderBy: now === down ? up : down }),
  };
}

/** @type {() => Record<string, Column>} */
const all = () => ({
  outcome: {
    title: "Outcome",
    cell: (trial) => html`<span class="outcome-cell"><${Shape} outcome=${outcomeOf(trial)} /> ${outcomeOf(trial)}</span>`,
  },
  status: { title: "Status", cell: ({ status }) => words(status) },
  reward: { title: "Reward", numeric: true, cell: (trial) => reward(trial.reward), ...sorting("reward") },
  category: { title: "Failure category", cell: ({ failureCategory }) => (failureCategory ? html`<${Text} value=${failureCategory} />` : "–") },
  detail: { title: "Failure detail", cell: ({ failureDetail }) => (failureDetail ? html`<${Text} value=${failureDetail.slice(0, 300)} />` : "–") },
  stages: {
    title: "Stages",
    cell: ({ stages }) =>
      stages.length === 0
        ? "–"
        : html`<ul class="stages">${stages.map(({ name, value }) => html`<li><${Text} value=${name} /> <strong>${reward(value)}</strong></li>`)}</ul>`,
  },
  seed: { title: "Seed", numeric: true, cell: ({ seed }) => html`<code>${seed}</code>` },
  executions: { title: "Executions", numeric: true, cell: ({ execution }) => count(execution) },
  started: { title: "Started", cell: ({ startedAt }) => html`<${Time} at=${startedAt} />`, ...sorting("created") },
  duration: { title: "Duration", numeric: true, cell: ({ startedAt, finishedAt }) => between(startedAt, finishedAt) },
  run: {
    title: "Run",
    cell: ({ run, environmentVersion }) => html`<a href=${`/versions/${environmentVersion.id}#run-${run.id}`}><code>${run.id.slice(-12)}</code></a>`,
  },
});

/** @type {Column} */
const TRIAL = {
  title: "Trial",
  heading: true,
  cell: ({ id, attempt, environmentVersion: { version, environment } }) => html`<a href=${`/trials/${id}`}>
      <${Text} value=${environment.name} />, attempt ${attempt}</a>
    <span class="under">version ${version}</span>`,
};

function chosen() {
  const given = address.value.query.getAll("column");
  return given.length > 0 ? given : USUAL;
}

/** Those of the address, in their own order. @returns {Column[]} */
export function columns() {
  const names = chosen();
  return [TRIAL, ...Object.entries(all()).flatMap(([name, column]) => (names.includes(name) ? [column] : []))];
}

export function ColumnChoice() {
  const names = chosen();
  const toggle = (/** @type {string} */ name) => {
    const next = names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
    const usual = next.length === USUAL.length && next.every((one) => USUAL.includes(one));
    setQuery({ column: usual ? null : next.length > 0 ? next : ["none"] });
  };
  return html`<details class="column-choice">
    <summary>Columns</summary>
    <fieldset class="several">
      <legend class="unseen-label">Columns</legend>
      ${Object.entries(all()).map(
        ([name, { title }]) => html`<label key=${name}>
          <input type="checkbox" checked=${names.includes(name)} onChange=${() => toggle(name)} /> ${title}
        </label>`,
      )}
    </fieldset>
  </details>`;
}
