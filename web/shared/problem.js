// What stands where data would: an error, an empty state, or that it is being loaded.
import { Code } from "./code.js";
import { html } from "./html.js";

const TITLES = /** @type {Record<string, string>} */ ({
  unreachable: "The service does not answer",
  "signed-out": "You are signed out",
  refused: "The service refused this",
  missing: "Not found",
  failed: "Something went wrong",
});

/**
 * @param {{ error: Error & { kind?: string }, retry?: () => void }} props
 */
export const ErrorBox = ({ error, retry }) => html`<div class="error-box" role="alert">
  <h2>${TITLES[error.kind ?? "failed"] ?? TITLES.failed}</h2>
  <p>${error.message}</p>
  ${retry && html`<button onClick=${retry}>Try again</button>`}
</div>`;

/**
 * Says what would be here, and how it comes to be.
 * @param {{ title: string, command?: string, children?: import("./html.js").Children }} props
 */
export const Empty = ({ title, command, children }) => html`<div class="empty">
  <h2>${title}</h2>
  ${children}
  ${command && html`<${Code} value=${command} label="The next command" />`}
</div>`;

/**
 * The button below a list that has more rows than are shown, and what to do where one page can hold no more.
 * @param {{ shown: number, most: number, label: string, onMore: () => void }} props
 */
export const More = ({ shown, most, label, onMore }) =>
  shown < most
    ? html`<button onClick=${onMore}>${label}</button>`
    : html`<p class="hint">The newest ${most} are shown. <a href="/graphql">The graph</a> has the others.</p>`;

/** @param {{ what: string }} props such as "environment": there is none, or it is another organization's */
export const NotFound = ({ what }) => html`<div class="empty" role="alert">
  <h2>Not found</h2>
  <p>There is no such ${what} in this organization. <a href="/">Go to the environments</a>.</p>
</div>`;

export const Loading = () => html`<p class="loading" role="status">Loading…</p>`;

/**
 * The error, the sign of loading, or what `children` makes of the answer.
 * @template T
 * @param {{ answer: { data: T | undefined, error: (Error & { kind?: string }) | undefined, refetch: () => void },
 *   children: (data: T) => import("./html.js").Children }} props
 */
export function Answered({ answer, children }) {
  const { data, error, refetch } = answer;
  if (data === undefined) return error ? html`<${ErrorBox} error=${error} retry=${refetch} />` : html`<${Loading} />`;
  return html`${error && html`<${ErrorBox} error=${error} retry=${refetch} />`} ${children(data)}`;
}
