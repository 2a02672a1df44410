// Every address and the module that shows it; agentforge/workspace.py has the same addresses.

/** @typedef {{ params: Record<string, string>, query: URLSearchParams }} PageProps */
/** @typedef {() => Promise<{ default: (props: PageProps) => any }>} Load */

const environments = () => import("./pages/environments.js");
const exports = () => import("./pages/exports.js");
const version = () => import("./pages/version.js");

/** @type {Record<string, Load>} */
export const ROUTES = {
  "/": environments,
  "/environments": environments,
  "/environments/:slug": version,
  "/versions/:id": version,
  "/versions/:id/exports": exports,
  "/exports": exports,
  "/trials": () => import("./pages/trials.js"),
  "/trials/:id": () => import("./pages/trial.js"),
  "/compare": () => import("./pages/compare.js"),
  "/capability-gaps": () => import("./pages/capability-gaps.js"),
  "/partial-rewards": () => import("./pages/partial-rewards.js"),
  "/settings": () => import("./pages/settings.js"),
  "/sign-in": () => import("./pages/sign-in.js"),
};

/**
 * The page at this path and the values of its `:names`; null where there is none.
 * @param {string} path
 */
export function match(path) {
  const given = path.split("/");
  for (const [pattern, load] of Object.entries(ROUTES)) {
    const parts = pattern.split("/");
    if (parts.length !== given.length) continue;
    if (!parts.every((part, index) => (part.startsWith(":") ? given[index] !== "" : part === given[index]))) continue;
    const named = parts.flatMap((part, index) => (part.startsWith(":") ? [[part.slice(1), decode(given[index])]] : []));
    return { load, params: /** @type {Record<string, string>} */ (Object.fromEntries(named)) };
  }
  return null;
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
