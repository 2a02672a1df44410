// The explorer of trials: any filter of the graph, page by page, in an address that can be shared.
import { setQuery } from "../shared/address.js";
import { graphql } from "../shared/graph.js";
import { html, useRef, useState } from "../shared/html.js";
import { count, counted } from "../shared/numbers.js";
import { Page } from "../shared/page.js";
import { Answered, Empty } from "../shared/problem.js";
import { useQuery } from "../shared/query.js";
import { VERSIONS } from "../shared/scope.js";
import { Table } from "../shared/table.js";
import { ColumnChoice, columns } from "../shared/trial-columns.js";
import { filterBy, filterOf, TrialFilter } from "../shared/trial-filter.js";

const ROWS = 50;
const MOST_COMPARED = 4;

const TRIALS = /** @type {import("../shared/graph.js").Operation<"Trials">} */ (graphql`
  query Trials($filter: EvaluationTrialFilter, $orderBy: EvaluationTrialOrder, $first: Int!, $after: String, $choices: Boolean!) {
    evaluationTrials(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
      totalCount
      pageInfo { hasNextPage endCursor }
      edges {
        node {
          id attempt seed status reward failureCategory failureDetail execution startedAt finishedAt
          stages { name value }
          run { id }
          environmentVersion { id version environment { slug name } }
        }
      }
    }
    environments(first: 100) @include(if: $choices) { ...Versions }
    capabilityGaps @include(if: $choices) { gaps { failureCategory trials } }
    partialRewards @include(if: $choices) { stage }
  }
  ${VERSIONS}
`);

/** @typedef {import("../shared/graph.js").Result<"Trials">["evaluationTrials"]} Trials */
/** @typedef {Trials["edges"][number]["node"]} Row */

/** @param {import("../routes.js").PageProps} props */
export default function TrialsPage({ query }) {
  const { filter, problems } = filterOf(query);
  const { answer, choices } = useTrials(query, problems.length > 0 ? {} : filter);
  return html`<${Page} title="Trials" lead="Every attempt of every run. The address holds filter, order and columns: share it.">
    <${TrialFilter} choices=${choices} />
    ${problems.length > 0
      ? html`<div class="error-box" role="alert">
          <h2>The address asks for something that cannot be</h2>
          ${problems.map((problem) => html`<p>${problem}</p>`)}
        </div>`
      : html`<${Found} answer=${answer} query=${query} filter=${filter} />`}
  <//>`;
}

/**
 * The trials, and with the first of them what filters there are to choose from: one request for both.
 * @param {URLSearchParams} query
 * @param {import("../shared/trial-filter.js").Filter} filter
 */
function useTrials(query, filter) {
  const choices = useRef(/** @type {import("../shared/trial-filter.js").Choices | undefined} */ (undefined));
  const withChoices = useRef("");
  const orderBy = /** @type {"NEWEST" | null} */ (query.get("orderBy"));
  const variables = { filter, orderBy, first: ROWS, after: query.get("after") };
  const key = JSON.stringify(variables);
  if (choices.current === undefined) withChoices.current = key;
  const answer = useQuery(TRIALS, { ...variables, choices: key === withChoices.current });
  const { environments, capabilityGaps, partialRewards } = answer.data ?? {};
  if (environments && capabilityGaps && partialRewards) choices.current = { environments, capabilityGaps, partialRewards };
  return { answer, choices: choices.current };
}

/**
 * @param {{ answer: import("../shared/query.js").Answer<"Trials">, query: URLSearchParams,
 *   filter: import("../shared/trial-filter.js").Filter }} props
 */
function Found({ answer, query, filter }) {
  // The rows say where they stand by the address that they came for, while those of the next are under way.
  const answered = useRef(query);
  if (!answer.loading) answered.current = query;
  return html`<${Answered} answer=${answer}>
    ${(/** @type {{ evaluationTrials: Trials }} */ data) =>
      html`<${Listed} trials=${data.evaluationTrials} query=${answered.current} isFiltered=${Object.keys(filter).length > 0} loading=${answer.loading} />`}
  <//>`;
}

/** @param {{ trials: Trials, query: URLSearchParams, isFiltered: boolean, loading: boolean }} props */
function Listed({ trials, query, isFiltered, loading }) {
  const [selected, setSelected] = useState(/** @type {Row[]} */ ([]));
  const rows = trials.edges.map(({ node }) => node);
  const isSelected = (/** @type {Row} */ row) => selected.some(({ id }) => id === row.id);
  const full = selected.length >= MOST_COMPARED;
  const select = (/** @type {Row} */ row) =>
    setSelected(isSelected(row) ? selected.filter(({ id }) => id !== row.id) : [...selected, row]);
  if (trials.totalCount === 0) return html`<${Nothing} isFiltered=${isFiltered} />`;

  const compare = {
    title: "Compare",
    cell: (/** @type {Row} */ row) => html`<input
      type="checkbox"
      checked=${isSelected(row)}
      disabled=${!isSelected(row) && (full || (selected[0] && selected[0].environmentVersion.id !== row.environmentVersion.id))}
      aria-label=${`Compare ${row.environmentVersion.environment.slug}, attempt ${row.attempt}`}
      onChange=${() => select(row)}
    />`,
  };
  return html`<section aria-busy=${loading}>
    <div class="above-table">
      <${Paging} trials=${trials} query=${query} />
      <${Comparison} selected=${selected} clear=${() => setSelected([])} />
      <${ColumnChoice} />
    </div>
    <${Table} caption="Trials" columns=${[...columns(), compare]} rows=${rows} rowKey=${(/** @type {Row} */ row) => row.id} />
    ${rows.length > 20 && html`<${Paging} trials=${trials} query=${query} />`}
  </section>`;
}

/** @param {{ isFiltered: boolean }} props */
const Nothing = ({ isFiltered }) =>
  isFiltered
    ? html`<${Empty} title="No trial matches"><p>Nothing in this organization fits all of the filters above. Take one away.</p><//>`
    : html`<${Empty} title="No trials yet" command="agentforge evaluate SLUG --agent 'COMMAND {task} {mcp_config}' --attempts 8 --watch">
        <p>Each attempt of an evaluation run is a trial. Start a run:</p>
      <//>`;

/** @param {{ selected: Row[], clear: () => void }} props */
const Comparison = ({ selected, clear }) => html`<div class="comparison-choice">
  ${selected.length === 0 && html`<span class="hint">Select two to four trials of one version to compare them.</span>`}
  ${selected.length === 1 && html`<span class="hint">One is selected; select another of its version.</span>`}
  ${selected.length > 1 && html`<a href=${`/compare?${selected.map(({ id }) => `id=${id}`).join("&")}`}>Compare ${selected.length} trials</a>`}
  ${selected.length > 0 && html`<button class="quiet" onClick=${clear}>Select none</button>`}
</div>`;

/** @param {{ trials: Trials, query: URLSearchParams }} props */
function Paging({ trials, query }) {
  const given = Number(query.get("page") ?? 1);
  const page = Number.isSafeInteger(given) && given > 0 && query.has("after") ? given : 1;
  // Where the pages began that have been seen; a cursor leads forward only, and in its own list.
  const starts = useRef(/** @type {Map<string, string | null>} */ (new Map()));
  const list = new URLSearchParams(query);
  for (const name of ["after", "page", "column"]) list.delete(name);
  starts.current.set(`${page} ${list}`, query.get("after"));
  const before = starts.current.get(`${page - 1} ${list}`);
  const first = (page - 1) * ROWS + 1;
  const shown = trials.edges.length === 0 ? "none" : `${count(first)} to ${count(first + trials.edges.length - 1)}`;
  return html`<nav class="paging" aria-label="Pages of trials">
    <span role="status">${shown} of ${counted(trials.totalCount, "trial")}</span>
    ${page > 1 && html`<button onClick=${() => filterBy({})}>First</button>`}
    ${page > 2 && before && html`<button onClick=${() => setQuery({ after: before, page: String(page - 1) })}>Previous</button>`}
    ${trials.pageInfo.hasNextPage &&
    html`<button onClick=${() => setQuery({ after: trials.pageInfo.endCursor, page: String(page + 1) })}>Next</button>`}
  </nav>`;
}
