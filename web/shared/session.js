// Who is signed in, and what happens when nobody is.
import { address, go, ownPath } from "./address.js";
import { signal } from "./html.js";

/** @typedef {import("../graph.js").Operations["Viewer"]["result"]["viewer"]} Viewer */

/** The person signed in; null until the graph has told. */
export const viewer = /** @type {import("../vendor/signals.js").Signal<Viewer | null>} */ (signal(null));

/** Why the graph has not told. */
export const viewerError = /** @type {import("../vendor/signals.js").Signal<Error | null>} */ (signal(null));

// Tabs share one session: what another one does with it is true here too.
const tabs = new BroadcastChannel("agentforge-session");
tabs.onmessage = ({ data }) => {
  if (data === null) return signedOut();
  // Nothing of the organization that was shown may stand beside what the other session gets.
  if (viewer.value && viewer.value.id !== data) location.reload();
  else if (address.value.path === "/sign-in") go(ownPath(address.value.query.get("from")), { replace: true });
};

/** Says here and in other tabs who is signed in now. @param {NonNullable<Viewer>} now */
export function signedIn(now) {
  viewer.value = now;
  tabs.postMessage(now.id);
}

/** Whether the viewer's role may start, reset and cancel. */
export const mayChange = () => ["OWNER", "MEMBER"].includes(viewer.value?.role ?? "");

/** Shows the sign-in page, which comes back to where we are. */
export function signedOut() {
  viewer.value = null;
  if (address.value.path === "/sign-in") return;
  const from = location.pathname + location.search + location.hash;
  go(`/sign-in?from=${encodeURIComponent(from)}`, { replace: true });
}

/**
 * Signs in with a password; returns null, or the words that say why not.
 * @param {{ email: string, password: string, organization?: string }} credentials
 */
export async function signIn(credentials) {
  const answer = await fetch("/api/v1/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(credentials),
  }).catch(() => null);
  if (answer === null) return "The service cannot be reached. Is it running? Try again.";
  if (answer.ok) return null;
  const problem = await answer.json().catch(() => ({}));
  return String(problem.detail ?? `The service answered ${answer.status}.`);
}

/** Ends the session, here and in other tabs; returns null, or the words that say why it goes on. */
export async function signOut() {
  const answer = await fetch("/api/v1/session", { method: "DELETE" }).catch(() => null);
  if (!answer?.ok && answer?.status !== 401) {
    return `You are still signed in: the service ${answer ? `answered ${answer.status}` : "cannot be reached"}. Try again.`;
  }
  tabs.postMessage(null);
  viewer.value = null;
  go("/sign-in");
  return null;
}
