// Exports: what training takes, of the organization or of one version, and every way to get it.
import { Code, Copy } from "../shared/code.js";
import { lost, returns } from "../shared/connection.js";
import { Download } from "../shared/download.js";
import { chosen, counts, ExportChoices, PAIRS_OF_A_VERSION } from "../shared/export-choices.js";
import { graphql } from "../shared/graph.js";
import { html, useEffect, useState } from "../shared/html.js";
import { count, counted } from "../shared/numbers.js";
import { Page } from "../shared/page.js";
import { Answered, Empty, NotFound } from "../shared/problem.js";
import { useQuery } from "../shared/query.js";
import { VERSIONS } from "../shared/scope.js";
import { signedOut } from "../shared/session.js";
import { Text } from "../shared/text.js";

const MEANINGS = {
  ALL: "The newest 1,000 rollouts, those without a score too.",
  SUCCESSFUL: "Every rollout with reward 1.",
  FAILED: "Every rollout with a reward below 1.",
  RECOVERY: "Every rollout with a reward above 0 and below 1.",
  PREFERENCE: "The highest against the lowest reward of each version, where they differ.",
};

const EXPORTS = graphql`
  fragment Exports on RolloutExport { kind url filename formats { name url filename } }
`;

const VERSION_EXPORTS = /** @type {import("../shared/graph.js").Operation<"VersionExports">} */ (graphql`
  query VersionExports($id: ID!) {
    environmentVersion(id: $id) { id version environment { slug name } exports { ...Exports } }
  }
  ${EXPORTS}
`);

const EXPORT_CHOICES = /** @type {import("../shared/graph.js").Operation<"ExportChoices">} */ (graphql`
  query ExportChoices {
    environments(first: 100) { ...Versions }
    viewer { organization { exports { ...Exports } } }
  }
  ${VERSIONS}
  ${EXPORTS}
`);

/** @typedef {import("../shared/graph.js").Result<"ExportChoices">["viewer"]["organization"]["exports"][number]} Export */

/** @param {import("../routes.js").PageProps} props */
export default function ExportsPage({ params }) {
  return params.id ? html`<${OfVersion} id=${params.id} />` : html`<${OfOrganization} />`;
}

function OfOrganization() {
  const answer = useQuery(EXPORT_CHOICES, {});
  return html`<${Page} title="Exports" lead="Rollouts of the whole organization as JSON lines, one a line, for training and analysis.">
    <${Private} />
    <${Answered} answer=${answer}>
      ${(/** @type {import("../shared/graph.js").Result<"ExportChoices">} */ data) => html`
        <${Kinds} exports=${data.viewer.organization.exports} />
        <${Versions} edges=${data.environments.edges} />
      `}
    <//>
  <//>`;
}

/** @param {{ edges: import("../shared/scope.js").Versions["edges"] }} props */
function Versions({ edges }) {
  const published = edges.filter(({ node }) => node.versions.edges.length > 0);
  if (published.length === 0) {
    return html`<${Empty} title="No version yet" command="agentforge environment publish DIR --slug my-environment">
      <p>Rollouts come of runs, and runs of an environment version. Publish one:</p>
    <//>`;
  }
  return html`<section>
    <h2>Of one version</h2>
    <ul class="version-exports">
      ${published.map(
        ({ node }) => html`<li>
          <${Text} value=${node.name} />${" "}
          ${node.versions.edges.map((edge) => html`<a href=${`/versions/${edge.node.id}/exports`}>version ${edge.node.version}</a> `)}
        </li>`,
      )}
    </ul>
  </section>`;
}

/** @param {{ id: string }} props */
function OfVersion({ id }) {
  const answer = useQuery(VERSION_EXPORTS, { id });
  const version = answer.data?.environmentVersion;
  if (answer.data && !version) return html`<${Page} title="Exports"><${NotFound} what="version" /><//>`;
  const crumbs = version && [
    ["Environments", "/"],
    [version.environment.name, `/environments/${encodeURIComponent(version.environment.slug)}`],
    [`Version ${version.version}`, `/versions/${version.id}`],
  ];
  const title = version ? `Exports of ${version.environment.name}, version ${version.version}` : "Exports";
  return html`<${Page} title=${title} crumbs=${crumbs} lead=${html`Rollouts of this version alone. <a href="/exports">Those of the organization</a>.`}>
    <${Answered} answer=${answer}>${() => html`<${Private} /><${Kinds} exports=${version?.exports ?? []} id=${id} />`}<//>
  <//>`;
}

const Private = () => html`<aside class="private" aria-label="Privacy">
  <strong>PRIVATE</strong>
  <p>
    Each line says <code>"privacyClass":"PRIVATE"</code>: it holds what agents of this organization did and what its worlds answered,
    word for word, and is meant for its own training and analysis. Keep the files where only this organization reads
    them. Secrets that the service knew have been taken out; whatever else an agent said is in them.
  </p>
</aside>`;

/** @param {{ exports: Export[], id?: string }} props */
function Kinds({ exports, id }) {
  const lines = useLines(exports);
  return html`<section>
    <h2>Kinds <span class="hint">lines as of now</span></h2>
    <${ExportChoices} exports=${exports} />
    ${exports.map((one) => html`<${Kind} key=${one.url} given=${one} lines=${lines[one.url] ?? {}} versionId=${id} />`)}
    <p class="hint token-hint">
      The commands take a token from <code>AGENTFORGE_TOKEN</code>: make one in <a href="/settings">Settings</a> or with${" "}
      <code>agentforge token create</code>.
    </p>
  </section>`;
}

/** @typedef {{ count?: number, problem?: string }} Lines */

const PATIENCE = 5;

/**
 * How many lines an export would give. Exports have few places: one that finds none free waits for its turn.
 * @param {string} url
 * @param {AbortSignal} signal
 * @returns {Promise<Lines>}
 */
async function linesOf(url, signal) {
  for (let time = 1; ; time += 1) {
    const response = await fetch(url, { method: "HEAD", signal }).catch(() => null);
    if (response === null) {
      if (!signal.aborted) lost(); // whoever is back is asked again
      return { problem: "not known: the service cannot be reached" };
    }
    if (response.status === 401) signedOut();
    const given = response.headers.get("X-Rollout-Count");
    if (response.ok && given !== null) return { count: Number(given) };
    const wait = Number(response.headers.get("Retry-After"));
    if (response.status !== 429 || time === PATIENCE) return { problem: `not known: the service answered ${response.status}` };
    await new Promise((next) => setTimeout(next, 1000 * (wait || 1)));
  }
}

/** Of each export, one after the other. @param {Export[]} exports */
function useLines(exports) {
  const [lines, setLines] = useState(/** @type {Record<string, Lines>} */ ({}));
  const [asked, setAsked] = useState(0);
  useEffect(() => returns.subscribe(() => setAsked((before) => before + 1)), []);
  useEffect(() => {
    const stopping = new AbortController();
    void (async () => {
      for (const { url } of exports) {
        const found = await linesOf(url, stopping.signal);
        if (stopping.signal.aborted) return;
        setLines((before) => ({ ...before, [url]: found }));
      }
    })();
    return () => stopping.abort();
  }, [exports, asked]);
  return lines;
}

/** @param {{ given: Export, lines: Lines, versionId?: string }} props */
function Kind({ given, lines, versionId }) {
  const { kind } = given;
  const { format, url, filename, options } = chosen(given);
  const name = kind.toLowerCase();
  const whole = location.origin + url;
  const scope = versionId ? ` --environment-version ${versionId}` : "";
  const curl = `curl -fH "Authorization: Bearer $AGENTFORGE_TOKEN" --compressed -o ${filename} "${whole}"`;
  const command = `agentforge export --url ${location.origin} --kind ${name}${scope}${options} --out ${filename}.zst`;
  return html`<article class="export" aria-label=${name}>
    <header>
      <h3>${name}</h3>
      <strong class="lines-count" role="status">${told(given, lines)}</strong>
      <span class="hint">${MEANINGS[kind]}</span>
    </header>
    <dl class="export-facts">
      <div><dt>File</dt><dd><code>${filename}</code></dd></div>
      <div><dt>Address</dt><dd><code>${whole}</code> <${Copy} value=${whole} label="Copy address" /></dd></div>
    </dl>
    <${Download} key=${url} url=${url} filename=${filename} total=${counts(given) ? lines.count : undefined} label=${`Download ${filename}`} />
    ${format !== given.formats[0].name &&
    html`<p class="hint">What ${format} cannot carry without loss is left out; <code>agentforge export</code> tells how much, and why.</p>`}
    <details>
      <summary>At a terminal</summary>
      <${Code} value=${curl} label=${`curl, ${name}`} />
      <${Code} value=${command} label=${`agentforge export, ${name}`} />
    </details>
  </article>`;
}

/** @param {Export} given @param {Lines} lines */
function told(given, { count: most, problem }) {
  if (problem !== undefined) return problem;
  if (most === undefined) return "…";
  if (chosen(given).everyPair) return `up to ${count(PAIRS_OF_A_VERSION)} pairs of each version`;
  return `${counts(given) ? "" : "at most "}${counted(most, given.kind === "PREFERENCE" ? "pair" : "line")}`;
}
