// Subscriptions over one WebSocket (graphql-transport-ws), opened when needed and again when it breaks.
import { createClient } from "../vendor/graphql-ws.js";
import { checkNow } from "./connection.js";
import { GraphError, graphError } from "./graph.js";
import { useEffect, useRef } from "./html.js";
import { signedOut } from "./session.js";

const FORBIDDEN = 4403;
const LONGEST_WAIT = 5_000;
const ALIVE = 15_000;

const client = createClient({
  url: () => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/graphql`,
  keepAlive: ALIVE,
  connectionAckWaitTimeout: ALIVE,
  retryAttempts: Infinity,
  shouldRetry: (event) => !(event instanceof CloseEvent && event.code === FORBIDDEN),
  retryWait: (retries) => new Promise((go) => setTimeout(go, Math.min(250 * 2 ** retries, LONGEST_WAIT))),
  on: { closed: (event) => void (event instanceof CloseEvent && !event.wasClean && checkNow()) },
});

/**
 * Hears of each answer until stopped, also over connections that break; returns what stops it.
 * @template {keyof import("../graph.js").Operations} Name
 * @param {import("./graph.js").Operation<Name>} operation
 * @param {import("./graph.js").Variables<Name>} variables
 * @param {{ next: (data: import("./graph.js").Result<Name>) => void, error?: (error: GraphError) => void,
 *   complete?: () => void }} hear
 */
export function subscribe(operation, variables, hear) {
  return client.subscribe(
    { query: operation, variables: /** @type {Record<string, unknown>} */ (variables) },
    {
      next: ({ data, errors }) => {
        if (errors) hear.error?.(graphError(/** @type {any} */ (errors)));
        else if (data) hear.next(/** @type {any} */ (data));
      },
      error: (error) => {
        if (error instanceof CloseEvent && error.code === FORBIDDEN) return signedOut();
        hear.error?.(Array.isArray(error) ? graphError(error) : new GraphError("failed", "Live updates have ended."));
      },
      complete: () => hear.complete?.(),
    },
  );
}

/**
 * Hears as long as the component is shown and `variables` is not null.
 * @template {keyof import("../graph.js").Operations} Name
 * @param {import("./graph.js").Operation<Name>} operation
 * @param {import("./graph.js").Variables<Name> | null} variables
 * @param {Parameters<typeof subscribe<Name>>[2]} hear
 */
export function useSubscription(operation, variables, hear) {
  const latest = useRef(hear);
  latest.current = hear;
  useEffect(() => {
    if (variables === null) return undefined;
    return subscribe(operation, variables, {
      next: (data) => latest.current.next(data),
      error: (error) => latest.current.error?.(error),
      complete: () => latest.current.complete?.(),
    });
  }, [operation, JSON.stringify(variables)]);
}
