// Starts the workspace: the page of the address, within the layout that all pages but sign-in share.
import { match } from "./routes.js";
import { address, follow } from "./shared/address.js";
import { html, render, useEffect, useErrorBoundary, useState } from "./shared/html.js";
import { Layout } from "./shared/layout.js";
import { Page } from "./shared/page.js";
import { ErrorBox, Loading } from "./shared/problem.js";

function Workspace() {
  const { path, query, visit } = address.value;
  const found = match(path);
  const shown = found
    ? html`<${Loaded} key=${`${visit} ${path}`} load=${found.load} params=${found.params} query=${query} />`
    : html`<${Unknown} path=${path} />`;
  return path === "/sign-in" ? html`<main id="content" class="alone">${shown}</main>` : html`<${Layout}>${shown}<//>`;
}

/**
 * Loads the page's module and shows it, or why it could not be: no mistake of a page leaves the window blank.
 * @param {{ load: import("./routes.js").Load } & import("./routes.js").PageProps} props
 */
function Loaded({ load, params, query }) {
  const [thrown] = useErrorBoundary();
  const [page, setPage] = useState(/** @type {{ Show?: any, error?: Error }} */ ({}));
  useEffect(() => {
    load().then(
      (module) => setPage({ Show: module.default }),
      (error) => setPage({ error }),
    );
  }, []);
  const error = thrown ?? page.error;
  if (error) return html`<${ErrorBox} error=${error} retry=${() => location.reload()} />`;
  return page.Show ? html`<${page.Show} params=${params} query=${query} />` : html`<${Loading} />`;
}

/** @param {{ path: string }} props */
const Unknown = ({ path }) => html`<${Page} title="No such page">
  <p>There is nothing at <code>${path}</code>. <a href="/">Go to the environments</a>.</p>
<//>`;

follow((path) => match(path) !== null);
const root = /** @type {HTMLElement} */ (document.getElementById("workspace"));
root.replaceChildren();
render(html`<${Workspace} />`, root);
