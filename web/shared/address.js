// The address bar as a signal; links of our own pages change it without loading a document.
import { signal } from "./html.js";

/** @param {number} visit */
const here = (visit) => ({ path: location.pathname, query: new URLSearchParams(location.search), visit });

/** Where we are. Pages read it; `go` and `setQuery` change it. A page that is opened again counts as another visit. */
export const address = signal(here(0));

/**
 * Opens a page of ours.
 * @param {string} url its path, perhaps with a query
 * @param {{ replace?: boolean }} [options] `replace`: the back button skips where we were
 */
export function go(url, { replace = false } = {}) {
  const again = url === location.pathname + location.search + location.hash;
  history[replace || again ? "replaceState" : "pushState"](null, "", url);
  const before = address.value.path;
  address.value = here(address.value.visit + Number(again));
  if (address.value.path !== before) scrollTo(0, 0);
}

/**
 * Changes some of the query and keeps the rest; null, "" and [] take a name out.
 * @param {Record<string, string | string[] | null | undefined>} changes
 * @param {{ replace?: boolean }} [options]
 */
export function setQuery(changes, options) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const one of [value ?? []].flat()) if (one !== "") query.append(name, one);
  }
  go(location.pathname + (query.size ? `?${query}` : ""), options);
}

/**
 * The path of an address that came from outside, when it is one of this site; else the first page.
 * @param {string | null} from
 */
export function ownPath(from) {
  const url = URL.canParse(from ?? "/", location.origin) ? new URL(from ?? "/", location.origin) : null;
  // A path that begins with two slashes would name a host.
  return url?.origin === location.origin ? url.pathname.replace(/^\/+/, "/") + url.search + url.hash : "/";
}

/**
 * Follows links and the back button; `isPage` tells which paths are ours to show.
 * @param {(path: string) => boolean} isPage
 */
export function follow(isPage) {
  addEventListener("popstate", () => (address.value = here(address.value.visit)));
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const modified = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button !== 0;
    if (!link?.href || modified || link.target || link.hasAttribute("download") || event.defaultPrevented) return;
    const url = new URL(link.href);
    const sameDocument = url.hash !== "" && url.pathname + url.search === location.pathname + location.search;
    if (url.origin !== location.origin || sameDocument || !isPage(url.pathname)) return;
    event.preventDefault();
    go(url.pathname + url.search + url.hash);
  });
}
