// Partial rewards: one row for each stage that a worker wrote.
import { graphql } from "../shared/graph.js";
import { html } from "../shared/html.js";
import { count, percent, reward } from "../shared/numbers.js";
import { Page } from "../shared/page.js";
import { Answered, Empty } from "../shared/problem.js";
import { useQuery } from "../shared/query.js";
import { Scope, scope, VERSIONS } from "../shared/scope.js";
import { Table } from "../shared/table.js";
import { Text } from "../shared/text.js";

const PARTIAL_REWARDS = /** @type {import("../shared/graph.js").Operation<"PartialRewards">} */ (graphql`
  query PartialRewards($filter: PartialRewardFilter) {
    partialRewards(filter: $filter) { stage trials mean min max full }
    environments(first: 100) { ...Versions }
  }
  ${VERSIONS}
`);

/** @typedef {import("../shared/graph.js").Result<"PartialRewards">} Data */
/** @typedef {Data["partialRewards"][number]} Stage */

/** @type {import("../shared/table.js").Column<Stage>[]} */
const COLUMNS = [
  { title: "Stage", heading: true, cell: ({ stage }) => html`<${Text} value=${stage} />` },
  { title: "Trials", numeric: true, cell: ({ trials }) => count(trials) },
  { title: "Mean", numeric: true, cell: ({ mean }) => reward(mean) },
  { title: "Spread", cell: (row) => html`<${Spread} row=${row} />` },
  {
    title: "Full credit",
    numeric: true,
    cell: ({ full, trials }) => `${count(full)} of ${count(trials)} (${percent(full / trials)})`,
  },
];

/** From the lowest to the highest value, with the mean between. @param {{ row: Stage }} props */
function Spread({ row }) {
  const [low, high] = [Math.min(row.min, 0), Math.max(row.max, 1)];
  const at = (/** @type {number} */ value) => (100 * (value - low)) / (high - low);
  return html`<span class="spread">
    <svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
      <path d="M0 6H100" class="line faint" />
      <rect x=${at(row.min)} y="3" width=${Math.max(at(row.max) - at(row.min), 1)} height="6" class="solid" />
      <rect x=${Math.min(at(row.mean), 98)} y="0" width="2" height="12" class="mean" />
    </svg>
    <span>${reward(row.min)} to ${reward(row.max)}</span>
  </span>`;
}

export default function PartialRewards() {
  const answer = useQuery(PARTIAL_REWARDS, { filter: scope() });
  return html`<${Page} title="Partial rewards" lead="How far attempts come: each stage over the trials whose worker wrote it.">
    <${Answered} answer=${answer}>
      ${(/** @type {Data} */ data) => html`<${Scope} versions=${data.environments} /><${Report} stages=${data.partialRewards} />`}
    <//>
  <//>`;
}

/** @param {{ stages: Stage[] }} props */
function Report({ stages }) {
  if (stages.length === 0) {
    return html`<${Empty} title="No stages yet" command="agentforge evaluate SLUG --agent 'COMMAND {task} {mcp_config}' --watch">
      <p>
        A stage is a <code>stage_*</code> number that the evaluator prints beside the reward. None of these trials has
        one. Run an environment whose evaluator gives some:
      </p>
    <//>`;
  }
  return html`<${Table} stacks caption="Partial rewards" columns=${COLUMNS} rows=${stages} rowKey=${(/** @type {Stage} */ row) => row.stage} />`;
}
