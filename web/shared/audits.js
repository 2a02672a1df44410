// Who exported what, for owners.
import { GraphError, graphql, request } from "./graph.js";
import { html, useState } from "./html.js";
import { bytes, count, counted } from "./numbers.js";
import { Table } from "./table.js";
import { Text } from "./text.js";
import { Time } from "./time.js";

export const AUDITS = graphql`
  fragment Audits on ExportAuditConnection {
    edges {
      node { id actor actorRole isToken kind format filters { name value } startedAt endedAt outcome lines bytes }
    }
    pageInfo { hasNextPage endCursor }
  }
`;

const MORE = /** @type {import("./graph.js").Operation<"MoreExportAudits">} */ (graphql`
  query MoreExportAudits($after: String) {
    viewer { organization { exportAudits(first: 50, after: $after) { ...Audits } } }
  }
  ${AUDITS}
`);

/** @typedef {import("./graph.js").Result<"MoreExportAudits">["viewer"]["organization"]["exportAudits"]} Audits */
/** @typedef {Audits["edges"][number]["node"]} Audit */

const OUTCOMES = {
  STARTED: "under way, or its process was lost",
  COMPLETED: "completed",
  LEFT: "the client left",
  FAILED: "failed",
  REFUSED: "refused",
};

/** @param {Audit} audit */
const filters = ({ format, filters }) => [`format=${format}`, ...filters.map(({ name, value }) => `${name}=${value}`)].join(" ");

/** @type {import("./table.js").Column<Audit>[]} */
const COLUMNS = [
  { title: "When", heading: true, cell: ({ startedAt }) => html`<${Time} at=${startedAt} />` },
  {
    title: "Who",
    cell: ({ actor, actorRole, isToken }) =>
      html`<${Text} value=${actor} /><span class="under">${isToken ? "token" : "person"}, ${actorRole.toLowerCase()}</span>`,
  },
  {
    title: "What",
    cell: (audit) => html`${audit.kind.toLowerCase()}<span class="under"><${Text} value=${filters(audit)} /></span>`,
  },
  { title: "Lines", numeric: true, cell: ({ lines }) => count(Number(lines)) },
  { title: "Size", numeric: true, cell: (audit) => bytes(Number(audit.bytes)) },
  { title: "Outcome", cell: ({ outcome }) => OUTCOMES[outcome] },
];

/** @param {{ audits: Audits }} props the newest */
export function ExportAudits({ audits }) {
  const [older, setOlder] = useState(/** @type {Audits | null} */ (null));
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const known = new Set(audits.edges.map(({ node }) => node.id));
  const shown = [...audits.edges, ...(older?.edges ?? []).filter(({ node }) => !known.has(node.id))].map(({ node }) => node);
  const { hasNextPage, endCursor } = (older ?? audits).pageInfo;

  async function more() {
    setBusy(true);
    try {
      const page = (await request(MORE, { after: endCursor })).viewer.organization.exportAudits;
      setOlder((before) => ({ ...page, edges: [...(before?.edges ?? []), ...page.edges] }));
      setProblem("");
    } catch (error) {
      setProblem(error instanceof GraphError ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  }

  return html`<section>
    <h2>Exports <span class="hint">every one there was, kept for good</span></h2>
    ${shown.length === 0
      ? html`<p>Nobody has exported rollouts yet. <a href="/exports">Exports</a> tells how.</p>`
      : html`<${Table} stacks caption="Exports there were" columns=${COLUMNS} rows=${shown} rowKey=${(/** @type {Audit} */ { id }) => id} />`}
    <p class="facts" role="status">${older ? `${counted(shown.length, "export")} shown` : ""}</p>
    ${problem && html`<p class="action-problem" role="alert">${problem}</p>`}
    ${hasNextPage && html`<button onClick=${more} disabled=${busy}>Show older exports</button>`}
  </section>`;
}
