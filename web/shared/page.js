// The frame of a page: its title in tab and heading, the way back, and where the keyboard starts.
import { html, useEffect, useRef } from "./html.js";
import { plain, Text } from "./text.js";

let first = true;

/**
 * @param {{ title: string, crumbs?: [string, string][], lead?: import("./html.js").Children,
 *   actions?: import("./html.js").Children, children?: import("./html.js").Children }} props
 *   `crumbs`: names and paths of the pages above this one
 */
export function Page({ title, crumbs = [], lead, actions, children }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    document.title = `${plain(title)} · AgentForge`;
  }, [title]);
  useEffect(() => {
    // A document that was just loaded begins at its top; a page that replaces another begins at its heading.
    if (!first) heading.current?.focus({ preventScroll: true });
    first = false;
  }, []);
  return html`<div class="page">
    <header class="page-head">
      ${crumbs.length > 0 &&
      html`<nav aria-label="Breadcrumb" class="crumbs">
        ${crumbs.map(([name, path]) => html`<a href=${path}><${Text} value=${name} /></a>`)}
      </nav>`}
      <div class="page-title">
        <h1 tabindex="-1" ref=${heading}><${Text} value=${title} /></h1>
        ${actions && html`<div class="actions">${actions}</div>`}
      </div>
      ${lead && html`<div class="lead">${lead}</div>`}
    </header>
    ${children}
  </div>`;
}
