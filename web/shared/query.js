// The small store of a page: the answer to one operation, kept fresh.
import { returns } from "./connection.js";
import { GraphError, request } from "./graph.js";
import { useEffect, useRef, useState } from "./html.js";

/** The largest page that the graph gives. */
export const MOST_ROWS = 500;

/**
 * @template {keyof import("../graph.js").Operations} Name
 * @typedef {object} Answer
 * @property {import("./graph.js").Result<Name> | undefined} data the latest answer, kept while a new one is asked for
 * @property {GraphError | undefined} error why the latest request has none
 * @property {boolean} loading whether `data` is not yet, or no longer, of these variables
 * @property {() => void} refetch asks again
 * @property {(change: (data: import("./graph.js").Result<Name>) => import("./graph.js").Result<Name>) => void} update
 *   puts what was heard elsewhere into the answer
 */

/**
 * Asks when shown, when the variables change, and when the service is back after it could not be reached.
 * @template {keyof import("../graph.js").Operations} Name
 * @param {import("./graph.js").Operation<Name>} operation
 * @param {import("./graph.js").Variables<Name>} variables
 * @returns {Answer<Name>}
 */
export function useQuery(operation, variables) {
  const key = JSON.stringify(variables);
  const [state, setState] = useState(
    /** @type {Pick<Answer<Name>, "data" | "error" | "loading"> & { key: string }} */ ({
      data: undefined,
      error: undefined,
      loading: true,
      key,
    }),
  );
  const [asked, setAsked] = useState(0);
  const failed = useRef(false);
  // What was heard while an answer is under way, which may be older than that: put into it too.
  const heard = useRef(/** @type {((data: import("./graph.js").Result<Name>) => import("./graph.js").Result<Name>)[] | null} */ (null));

  useEffect(() => returns.subscribe(() => failed.current && setAsked((count) => count + 1)), []);
  useEffect(() => {
    const controller = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    heard.current = [];
    request(operation, variables, { signal: controller.signal }).then(
      (answered) => {
        if (controller.signal.aborted) return;
        failed.current = false;
        const data = (heard.current ?? []).reduce((before, change) => change(before), answered);
        heard.current = null;
        setState({ data, error: undefined, loading: false, key });
      },
      (error) => {
        if (controller.signal.aborted) return;
        heard.current = null;
        failed.current = error instanceof GraphError && error.kind === "unreachable";
        setState((before) => ({ ...before, error, loading: false, key }));
      },
    );
    return () => controller.abort();
  }, [operation, key, asked]);

  return {
    data: state.data,
    error: state.error,
    // From the moment on that other variables are given, not from when they are asked for.
    loading: state.loading || state.key !== key,
    refetch: () => setAsked((count) => count + 1),
    update: (change) => {
      if (state.data) heard.current?.push(change);
      setState((before) => (before.data ? { ...before, data: change(before.data) } : before));
    },
  };
}
