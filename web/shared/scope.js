// Which trials a report looks at: of one version or all, of a span of time. It stands in the address, named as the
// graph's filters are, so that a link to the trials themselves has the same words.
import { address, setQuery } from "./address.js";
import { graphql } from "./graph.js";
import { html } from "./html.js";
import { plain } from "./text.js";

export const VERSIONS = graphql`
  fragment Versions on EnvironmentConnection {
    edges { node { name slug versions(first: 20) { edges { node { id version } } } } }
  }
`;

/** @typedef {{ edges: { node: { name: string, slug: string, versions: { edges: { node: { id: string, version: number } }[] } } }[] }} Versions */

const NAMES = /** @type {const} */ (["environmentVersionId", "createdAfter", "createdBefore"]);
const MIDNIGHT = "T00:00:00Z";

/** The filter that the address gives. */
export function scope() {
  const { query } = address.value;
  const given = NAMES.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : []));
  return /** @type {Partial<Record<typeof NAMES[number], string>>} */ (Object.fromEntries(given));
}

/**
 * The address of exactly those of the trials in scope that the rest of the filter takes.
 * @param {Record<string, string>} filter
 */
export const trialsOf = (filter) => `/trials?${new URLSearchParams({ ...scope(), ...filter })}`;

/** @param {{ versions: Versions }} props */
export function Scope({ versions }) {
  const now = scope();
  const known = versions.edges.flatMap(({ node }) => node.versions.edges.map((edge) => edge.node.id));
  const other = now.environmentVersionId && !known.includes(now.environmentVersionId);
  return html`<form class="scope" aria-label="Trials looked at" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <label>
      Environment version
      <select
        value=${now.environmentVersionId ?? ""}
        onChange=${(/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) =>
          setQuery({ environmentVersionId: event.currentTarget.value })}
      >
        <option value="">All</option>
        ${other && html`<option value=${now.environmentVersionId}>${now.environmentVersionId}</option>`}
        ${versions.edges.flatMap(({ node }) =>
          node.versions.edges.map(
            (edge) => html`<option value=${edge.node.id}>${plain(node.name)}, version ${edge.node.version}</option>`,
          ),
        )}
      </select>
    </label>
    <${Day} label="Created from" name="createdAfter" value=${now.createdAfter} />
    <${Day} label="Created before" name="createdBefore" value=${now.createdBefore} />
    ${Object.keys(now).length > 0 &&
    html`<button class="quiet" onClick=${() => setQuery(Object.fromEntries(NAMES.map((name) => [name, null])))}>Look at all</button>`}
  </form>`;
}

/** A day's beginning, UTC. @param {{ label: string, name: string, value?: string }} props */
const Day = ({ label, name, value }) => html`<label>
  ${label}
  <input
    type="date"
    value=${value?.slice(0, 10) ?? ""}
    onChange=${(/** @type {Event & { currentTarget: HTMLInputElement }} */ event) =>
      setQuery({ [name]: event.currentTarget.value && event.currentTarget.value + MIDNIGHT })}
  />
</label>`;
