// A version of an environment: what it is, how often agents pass it, its runs, and the way to start more.
import { Curve } from "../shared/curve.js";
import { Short } from "../shared/code.js";
import { graphql } from "../shared/graph.js";
import { html, useState } from "../shared/html.js";
import { count, reward } from "../shared/numbers.js";
import { Page } from "../shared/page.js";
import { Answered, Empty, More, NotFound } from "../shared/problem.js";
import { MOST_ROWS, useQuery } from "../shared/query.js";
import { isOpen, RUN, RunCard } from "../shared/run.js";
import { StartRun } from "../shared/start.js";
import { useSubscription } from "../shared/subscription.js";
import { Table } from "../shared/table.js";
import { LongText } from "../shared/text.js";
import { Time } from "../shared/time.js";

const RUNS = 25;

const VERSION = graphql`
  fragment Version on EnvironmentVersion {
    id version digest manifest createdAt
    passAtK { k estimate passHatK }
    environment { slug name versions(first: 100) { edges { node { id version } } } }
    runs(first: $runs) { totalCount pageInfo { hasNextPage } edges { node { ...Run } } }
  }
  ${RUN}
`;

const CONFIGURATIONS = graphql`
  fragment Configurations on EvaluatorConfigurationConnection { edges { node { id name attemptCount } } }
`;

const BY_ID = /** @type {import("../shared/graph.js").Operation<"VersionById">} */ (graphql`
  query VersionById($id: ID!, $runs: Int!) {
    environmentVersion(id: $id) { ...Version }
    evaluatorConfigurations(first: 100) { ...Configurations }
  }
  ${VERSION}
  ${CONFIGURATIONS}
`);

const LATEST = /** @type {import("../shared/graph.js").Operation<"LatestVersion">} */ (graphql`
  query LatestVersion($slug: String!, $runs: Int!) {
    environment(slug: $slug) { name slug latestVersion { ...Version } }
    evaluatorConfigurations(first: 100) { ...Configurations }
  }
  ${VERSION}
  ${CONFIGURATIONS}
`);

const TRIAL_FINISHED = /** @type {import("../shared/graph.js").Operation<"TrialFinished">} */ (graphql`
  subscription TrialFinished($version: ID!) {
    evaluationTrialFinished(environmentVersionId: $version) { id run { id } }
  }
`);

/** @typedef {NonNullable<import("../shared/graph.js").Result<"VersionById">["environmentVersion"]>} Version */
/** @typedef {import("../shared/start.js").Configuration[]} Configurations */
/** @typedef {(change: (version: Version) => Version) => void} Update */

/** @param {import("../routes.js").PageProps} props */
export default function VersionPage({ params }) {
  const [runs, setRuns] = useState(RUNS);
  const more = () => setRuns(runs + RUNS);
  return params.id
    ? html`<${ById} id=${params.id} runs=${runs} more=${more} />`
    : html`<${Latest} slug=${params.slug} runs=${runs} more=${more} />`;
}

/** @param {{ id: string, runs: number, more: () => void }} props */
function ById({ id, runs, more }) {
  const answer = useQuery(BY_ID, { id, runs });
  const found = answer.data?.environmentVersion;
  /** @type {Update} */
  const update = (change) =>
    answer.update((data) => ({ ...data, environmentVersion: data.environmentVersion && change(data.environmentVersion) }));
  if (answer.data && !found) return html`<${Page} title="Version"><${NotFound} what="version" /><//>`;
  return html`<${Shown} answer=${answer} version=${found} title="Version" update=${update} more=${more} />`;
}

/** @param {{ slug: string, runs: number, more: () => void }} props */
function Latest({ slug, runs, more }) {
  const answer = useQuery(LATEST, { slug, runs });
  const environment = answer.data?.environment;
  /** @type {Update} */
  const update = (change) =>
    answer.update(({ environment: of, ...data }) => ({
      ...data,
      environment: of && { ...of, latestVersion: of.latestVersion && change(of.latestVersion) },
    }));
  if (answer.data && !environment) return html`<${Page} title="Environment"><${NotFound} what="environment" /><//>`;
  if (environment && !environment.latestVersion) return html`<${Unpublished} environment=${environment} />`;
  const version = environment?.latestVersion;
  return html`<${Shown} answer=${answer} version=${version} title="Environment" update=${update} more=${more} />`;
}

/** @param {{ environment: { name: string, slug: string } }} props */
const Unpublished = ({ environment }) => html`<${Page} title=${environment.name} crumbs=${[["Environments", "/"]]}>
  <${Empty} title="No version yet" command=${`agentforge environment publish DIR --slug ${environment.slug}`}>
    <p>This environment has a name and no content. Publish a folder with an <code>environment.json</code> as its first version:</p>
  <//>
<//>`;

/**
 * @param {{ answer: import("../shared/query.js").Answer<any>, version: Version | undefined, title: string,
 *   update: Update, more: () => void }} props
 */
function Shown({ answer, version, title, update, more }) {
  const crumbs = /** @type {[string, string][]} */ ([["Environments", "/"]]);
  if (!version) return html`<${Page} title=${title} crumbs=${crumbs}><${Answered} answer=${answer}>${() => null}<//><//>`;
  const { environment } = version;
  crumbs.push([environment.name, `/environments/${encodeURIComponent(environment.slug)}`]);
  return html`<${Page} title=${`${environment.name}, version ${version.version}`} crumbs=${crumbs} lead=${html`<${Facts} version=${version} />`}>
    <${Answered} answer=${answer}>
      ${(/** @type {{ evaluatorConfigurations: { edges: { node: Configurations[number] }[] } }} */ data) => html`
        <${Content}
          version=${version}
          configurations=${data.evaluatorConfigurations.edges.map(({ node }) => node)}
          update=${update}
          refetch=${answer.refetch}
          more=${more}
        />
      `}
    <//>
  <//>`;
}

/** @param {{ version: Version }} props */
const Facts = ({ version }) => html`<div class="version-facts">
  <span>digest <${Short} value=${version.digest} label="Copy" /></span>
  <span>published <${Time} at=${version.createdAt} /></span>
  <a href=${`/versions/${version.id}/exports`}>Exports</a>
  <a href=${`/trials?environmentVersionId=${version.id}`}>Trials</a>
  ${version.environment.versions.edges.length > 1 &&
  html`<nav aria-label="Versions" class="versions">
    versions
    ${version.environment.versions.edges.map(
      ({ node }) => html`<a href=${`/versions/${node.id}`} aria-current=${node.id === version.id ? "page" : undefined}>${node.version}</a>`,
    )}
  </nav>`}
</div>`;

/**
 * @param {{ version: Version, configurations: Configurations, update: Update, refetch: () => void, more: () => void }} props
 */
function Content({ version, configurations, update, refetch, more }) {
  const { runs } = version;

  // Runs that others start, at a terminal say, are heard of when the first of their attempts ends.
  useSubscription(TRIAL_FINISHED, { version: version.id }, {
    next: ({ evaluationTrialFinished: { run } }) => {
      if (!runs.edges.some(({ node }) => node.id === run.id)) refetch();
    },
  });

  /** @param {import("../shared/run.js").Run} run */
  function started(run) {
    update((now) => ({
      ...now,
      runs: now.runs.edges.some(({ node }) => node.id === run.id)
        ? now.runs
        : { ...now.runs, totalCount: now.runs.totalCount + 1, edges: [{ node: run }, ...now.runs.edges] },
    }));
  }

  /** @param {import("../shared/run.js").Run} run */
  function changed(run) {
    const edges = (/** @type {Version} */ now) => now.runs.edges.map((edge) => (edge.node.id === run.id ? { node: run } : edge));
    update((now) => ({ ...now, runs: { ...now.runs, edges: edges(now) } }));
    if (!isOpen(run)) refetch(); // the version's own pass@k has changed with it
  }

  return html`
    <section aria-label="Task" class="task"><${LongText} value=${String(version.manifest?.task ?? "")} /></section>
    <${StartRun} versionId=${version.id} configurations=${configurations} onStarted=${started} />
    <${Estimates} estimates=${version.passAtK} />
    <section>
      <h2>Runs <span class="hint">${count(runs.totalCount)}, newest first</span></h2>
      ${runs.edges.length === 0 &&
      html`<${Empty} title="Not run yet" command=${`agentforge evaluate ${version.environment.slug} --agent 'COMMAND {task} {mcp_config}' --attempts 8 --watch`}>
        <p>Start an evaluation above, or at the terminal:</p>
      <//>`}
      ${runs.edges.map(({ node }) => html`<${RunCard} key=${node.id} run=${node} onChange=${changed} />`)}
      ${runs.pageInfo.hasNextPage && html`<${More} shown=${runs.edges.length} most=${MOST_ROWS} label="Show older runs" onMore=${more} />`}
    </section>
    <section>
      <h2>Manifest</h2>
      <details>
        <summary>Show what agents, world and evaluator are given</summary>
        <${LongText} value=${JSON.stringify(version.manifest, null, 2)} folded=${20_000} />
      </details>
    </section>
  `;
}

/** @type {import("../shared/table.js").Column<import("../shared/curve.js").Estimate>[]} */
const COLUMNS = [
  { title: "k", heading: true, cell: ({ k }) => k },
  { title: "pass@k", numeric: true, cell: ({ estimate }) => reward(estimate) },
  { title: "pass^k", numeric: true, cell: ({ passHatK }) => reward(passHatK) },
];

/** @param {{ estimates: import("../shared/curve.js").Estimate[] }} props */
function Estimates({ estimates }) {
  if (estimates.length === 0) return null;
  const id = (/** @type {{ k: number }} */ { k }) => String(k);
  return html`<section>
    <h2>How often agents pass <span class="hint">mean over the ended runs, each with its own estimate</span></h2>
    <div class="estimates">
      ${estimates.length > 1 &&
      html`<figure>
        <${Curve} estimates=${estimates} />
        <figcaption>
          <span class="key solid">pass@k: at least one of k attempts passes</span>
          <span class="key dashed">pass^k: all k pass</span>
        </figcaption>
      </figure>`}
      <${Table} caption="pass@k and pass^k" columns=${COLUMNS} rows=${estimates} rowKey=${id} />
    </div>
  </section>`;
}
