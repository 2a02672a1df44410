// Capability gap: what agents fail at, as counts of the categories that workers wrote, and nothing else.
import { graphql } from "../shared/graph.js";
import { html } from "../shared/html.js";
import { count, counted, percent } from "../shared/numbers.js";
import { Page } from "../shared/page.js";
import { Answered, Empty } from "../shared/problem.js";
import { useQuery } from "../shared/query.js";
import { Scope, scope, trialsOf, VERSIONS } from "../shared/scope.js";
import { Text } from "../shared/text.js";

const CAPABILITY_GAPS = /** @type {import("../shared/graph.js").Operation<"CapabilityGaps">} */ (graphql`
  query CapabilityGaps($filter: CapabilityGapFilter) {
    capabilityGaps(filter: $filter) {
      trials categorized
      gaps { failureCategory trials latestTrial { id failureDetail } }
    }
    environments(first: 100) { ...Versions }
  }
  ${VERSIONS}
`);

/** @typedef {import("../shared/graph.js").Result<"CapabilityGaps">} Data */

export default function CapabilityGaps() {
  const answer = useQuery(CAPABILITY_GAPS, { filter: scope() });
  return html`<${Page} title="Capability gap" lead="What ended attempts failed at, as their worker or evaluator named it.">
    <${Answered} answer=${answer}>
      ${(/** @type {Data} */ data) => html`<${Scope} versions=${data.environments} /><${Report} report=${data.capabilityGaps} />`}
    <//>
  <//>`;
}

/** @param {{ report: Data["capabilityGaps"] }} props */
function Report({ report }) {
  const { trials, categorized, gaps } = report;
  const ended = `${counted(trials, "trial")} ${trials === 1 ? "has" : "have"} ended`;
  if (gaps.length === 0) {
    return html`<${Empty} title="No failure category">
      <p>${ended}, and none of them has a failure category. A category is written by the worker or named by the evaluator.</p>
    <//>`;
  }
  const most = Math.max(...gaps.map((gap) => gap.trials));
  return html`<section>
    <p>${ended}, ${count(categorized)} of them with a failure category (${percent(categorized / trials)}).</p>
    <ol class="bars">
      ${gaps.map((gap) => html`<${Bar} key=${gap.failureCategory} gap=${gap} most=${most} report=${report} />`)}
    </ol>
  </section>`;
}

/** @param {{ gap: Data["capabilityGaps"]["gaps"][number], most: number, report: Data["capabilityGaps"] }} props */
const Bar = ({ gap, most, report }) => html`<li>
  <a href=${trialsOf({ failureCategory: gap.failureCategory })}>
    <span class="bar-name"><${Text} value=${gap.failureCategory} /></span>
    <span class="bar" aria-hidden="true"><span style=${{ width: `${(100 * gap.trials) / most}%` }}></span></span>
    <strong>${counted(gap.trials, "trial")}</strong>
  </a>
  <span class="facts">
    <span>${percent(gap.trials / report.categorized)} of ${count(report.categorized)} categorized</span>
    <span>${percent(gap.trials / report.trials)} of ${count(report.trials)} ended</span>
    <span>
      <a href=${`/trials/${gap.latestTrial.id}`}>latest</a>${gap.latestTrial.failureDetail &&
      html`: <${Text} value=${gap.latestTrial.failureDetail} />`}
    </span>
  </span>
</li>`;
