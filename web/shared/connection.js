// Whether the service can be reached; asks by itself until it can be again.
import { signal } from "./html.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 5_000;

/** False from the first request that found nobody until somebody answers. */
export const reachable = signal(true);

/** Counts up each time the service is back: what failed meanwhile is asked again. */
export const returns = signal(0);

let waiting = 0;

/** Tells that a request reached nobody. */
export function lost() {
  if (!reachable.value) return;
  reachable.value = false;
  tryAgain(FIRST_WAIT);
}

/** Asks now whether the service is back. */
export async function checkNow() {
  clearTimeout(waiting);
  waiting = 0;
  await ask(FIRST_WAIT);
}

/** @param {number} milliseconds */
function tryAgain(milliseconds) {
  waiting = setTimeout(() => void ask(Math.min(milliseconds * 2, LONGEST_WAIT)), milliseconds);
}

/** @param {number} next */
async function ask(next) {
  const answer = await fetch("/healthz", { cache: "no-store" }).catch(() => null);
  if (!answer?.ok) {
    reachable.value = false;
    return tryAgain(next);
  }
  if (reachable.value) return;
  reachable.value = true;
  returns.value += 1;
}
