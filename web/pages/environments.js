// Environments: each with its latest version, how often that was run, and what came of it last.
import { Strip, words } from "../shared/attempts.js";
import { graphql } from "../shared/graph.js";
import { html, useState } from "../shared/html.js";
import { count } from "../shared/numbers.js";
import { Page } from "../shared/page.js";
import { Answered, Empty, More } from "../shared/problem.js";
import { MOST_ROWS, useQuery } from "../shared/query.js";
import { Table } from "../shared/table.js";
import { Text } from "../shared/text.js";
import { Time } from "../shared/time.js";

const PAGE = 50;

const ENVIRONMENTS = /** @type {import("../shared/graph.js").Operation<"Environments">} */ (graphql`
  query Environments($first: Int!) {
    environments(first: $first) {
      totalCount
      pageInfo { hasNextPage }
      edges {
        node {
          id slug name
          latestVersion {
            id version createdAt
            runs(first: 1) {
              totalCount
              edges { node { id status createdAt trials { id attempt status reward } } }
            }
          }
        }
      }
    }
  }
`);

/** @typedef {import("../shared/graph.js").Result<"Environments">["environments"]["edges"][number]["node"]} Environment */

/** @type {import("../shared/table.js").Column<Environment>[]} */
const COLUMNS = [
  {
    title: "Environment",
    heading: true,
    cell: ({ slug, name }) => html`<a href=${`/environments/${encodeURIComponent(slug)}`}><${Text} value=${name} /></a>
      <span class="under"><${Text} value=${slug} /></span>`,
  },
  {
    title: "Latest version",
    cell: ({ latestVersion: latest }) =>
      latest ? html`${latest.version} <span class="under"><${Time} at=${latest.createdAt} /></span>` : "none yet",
  },
  { title: "Its runs", numeric: true, cell: ({ latestVersion: latest }) => count(latest?.runs.totalCount ?? 0) },
  { title: "Last result", cell: (environment) => html`<${LastResult} environment=${environment} />` },
];

/** @param {{ environment: Environment }} props */
function LastResult({ environment }) {
  const run = environment.latestVersion?.runs.edges[0]?.node;
  if (!run) return "not run yet";
  return html`<${Strip} trials=${run.trials} label="Attempts of the last run" />
    <span class="under">${words(run.status)}, <${Time} at=${run.createdAt} /></span>`;
}

export default function Environments() {
  const [first, setFirst] = useState(PAGE);
  const answer = useQuery(ENVIRONMENTS, { first });
  const shown = answer.data?.environments;
  return html`<${Page}
    title="Environments"
    actions=${html`<a href="/exports">Exports</a>`}
    lead=${shown && shown.totalCount > 0 && `${count(shown.totalCount)} in this organization, the newest first.`}
  >
    <${Answered} answer=${answer}>
      ${() => html`<${Listed} environments=${shown} />
        ${shown?.pageInfo.hasNextPage && html`<${More} shown=${first} most=${MOST_ROWS} label="Show more" onMore=${() => setFirst(first + PAGE)} />`}`}
    <//>
  <//>`;
}

/** @param {{ environments: import("../shared/graph.js").Result<"Environments">["environments"] }} props */
function Listed({ environments }) {
  if (environments.edges.length === 0) {
    return html`<${Empty} title="No environment yet" command="agentforge environment publish DIR --slug my-environment">
      <p>
        An environment is a folder with an <code>environment.json</code>, a world that agents act in, and an evaluator
        that scores what they did. Publishing it makes its first version:
      </p>
    <//>`;
  }
  const rows = environments.edges.map(({ node }) => node);
  return html`<${Table} stacks caption="Environments" columns=${COLUMNS} rows=${rows} rowKey=${(/** @type {Environment} */ row) => row.id} />`;
}
