// A mutation and what came of it, to be shown where it was made.
import { GraphError, request } from "./graph.js";
import { html, useRef, useState } from "./html.js";

/** @typedef {{ busy: boolean, problem: string | null, field: string[] }} State */

const IDLE = /** @type {State} */ ({ busy: false, problem: null, field: [] });

/**
 * Runs one mutation at a time. `run` gives its payload, or null after a problem, which the state then tells. Each run
 * has a `clientMutationId`; one that got no answer has the same when it is tried again, so nothing is done twice.
 * @template {keyof import("../graph.js").Operations} Name
 * @param {import("./graph.js").Operation<Name>} operation with one field, whose result is a union with problems
 */
export function useAction(operation) {
  const [state, setState] = useState(IDLE);
  const running = useRef(false);
  const unanswered = useRef({ asked: "", id: "" });

  /**
   * @param {import("./graph.js").Variables<Name> extends { input: infer Input } ? Omit<Input, "clientMutationId"> : never} input
   * @returns {Promise<Exclude<import("./graph.js").Result<Name>[keyof import("./graph.js").Result<Name>], { message: string }> | null>}
   */
  async function run(input) {
    if (running.current) return null;
    running.current = true;
    setState({ ...IDLE, busy: true });
    const asked = JSON.stringify(input);
    const id = unanswered.current.asked === asked ? unanswered.current.id : newId();
    unanswered.current = { asked, id };
    try {
      const variables = /** @type {any} */ ({ input: { ...input, clientMutationId: id } });
      const [payload] = /** @type {any[]} */ (Object.values(await request(operation, variables)));
      unanswered.current = { asked: "", id: "" };
      const refused = typeof payload?.message === "string";
      setState(refused ? { busy: false, problem: payload.message, field: payload.field ?? [] } : IDLE);
      return refused ? null : payload;
    } catch (error) {
      setState({ ...IDLE, problem: error instanceof GraphError ? error.message : String(error) });
      return null;
    } finally {
      running.current = false;
    }
  }

  return { ...state, run, reset: () => setState(IDLE) };
}

/** 122 random bits; `crypto.randomUUID` is not there on a plain http address of another machine. */
function newId() {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16).padStart(8, "0")).join("");
}

/**
 * What went wrong, beside the button that was pressed; spoken when it appears.
 * @param {{ problem: string | null }} props
 */
export const ActionProblem = ({ problem }) =>
  html`<p class="action-problem" role="alert">${problem ?? ""}</p>`;
