// What surrounds every page: navigation, who is signed in, and a notice while the service cannot be reached.
import { ActionProblem } from "./action.js";
import { address } from "./address.js";
import { checkNow, reachable } from "./connection.js";
import { graphql, request } from "./graph.js";
import { html, useEffect, useState } from "./html.js";
import { signedIn, signOut, viewer, viewerError } from "./session.js";
import { Text } from "./text.js";

const VIEWER = /** @type {import("./graph.js").Operation<"Viewer">} */ (graphql`
  query Viewer {
    viewer { id email role organization { id slug name } }
  }
`);

const LINKS = /** @type {[string, string, RegExp][]} */ ([
  ["/", "Environments", /^\/($|environments|versions\/[^/]*$)/],
  ["/trials", "Trials", /^\/(trials|compare)/],
  ["/capability-gaps", "Capability gap", /^\/capability-gaps/],
  ["/partial-rewards", "Partial rewards", /^\/partial-rewards/],
  ["/exports", "Exports", /^\/(exports|versions\/[^/]*\/exports)/],
  ["/settings", "Settings", /^\/settings/],
]);

/** Asks who is signed in, for all pages. */
export async function askViewer() {
  viewerError.value = null;
  try {
    signedIn((await request(VIEWER, {})).viewer);
  } catch (error) {
    viewerError.value = /** @type {Error} */ (error);
  }
}

/** @param {{ children: import("./html.js").Children }} props */
export function Layout({ children }) {
  useEffect(() => {
    if (viewer.value === null) void askViewer();
  }, [reachable.value]);
  return html`<div class="layout">
    <a class="skip" href="#content">Skip to the content</a>
    <${Navigation} />
    <div class="column">
      <${Notice} />
      <main id="content">${children}</main>
    </div>
  </div>`;
}

function Navigation() {
  const [open, setOpen] = useState(false);
  const path = address.value.path;
  useEffect(() => setOpen(false), [path]);
  return html`<header class="side">
    <a class="wordmark" href="/"><img src=${new URL("../icon.svg", import.meta.url).href} alt="" width="22" height="22" />AgentForge</a>
    <button class="menu" aria-expanded=${open} aria-controls="navigation" onClick=${() => setOpen(!open)}>Menu</button>
    <div id="navigation" class=${open ? "open" : ""}>
      <nav aria-label="Pages">
        ${LINKS.map(
          ([url, name, mine]) => html`<a href=${url} aria-current=${mine.test(path) ? "page" : undefined}>${name}</a>`,
        )}
        <a href="/graphql">GraphiQL</a>
      </nav>
      <${Person} />
    </div>
  </header>`;
}

function Person() {
  const { value } = viewer;
  const [problem, setProblem] = useState("");
  if (value === null) return null;
  return html`<div class="person">
    <strong><${Text} value=${value.organization.name} /></strong>
    <span><${Text} value=${value.email ?? "a token"} /></span>
    <span>${value.role.toLowerCase()}</span>
    <button class="quiet" onClick=${async () => setProblem((await signOut()) ?? "")}>Sign out</button>
    <${ActionProblem} problem=${problem} />
  </div>`;
}

/** Stands above the page until the service is back; what was shown stays. */
export const Notice = () =>
  html`<div role="status" class="notices">
    ${!reachable.value &&
    html`<p class="notice">
      The service cannot be reached. This page goes on by itself when it is back.
      <button onClick=${checkNow}>Try now</button>
    </p>`}
  </div>`;
