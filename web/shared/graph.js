// The GraphQL client: one function that asks, with errors that say of which kind they are.
import { lost } from "./connection.js";
import { signedOut } from "./session.js";

/**
 * A document, typed by the name of its operation: web/graph.d.ts is made from the documents themselves.
 * @template {keyof import("../graph.js").Operations} Name
 * @typedef {string & { readonly operation?: Name }} Operation
 */

/**
 * @template {keyof import("../graph.js").Operations} Name
 * @typedef {import("../graph.js").Operations[Name]["variables"]} Variables
 */

/**
 * @template {keyof import("../graph.js").Operations} Name
 * @typedef {import("../graph.js").Operations[Name]["result"]} Result
 */

/**
 * Marks a document, for the test that checks each against the schema. Fragments are other documents, put in with ${}.
 * @param {TemplateStringsArray} strings
 * @param {...string} fragments
 */
export const graphql = (strings, ...fragments) => String.raw(strings, ...fragments);

/** @typedef {"unreachable" | "signed-out" | "refused" | "missing" | "failed"} Kind */

/** Why there is no answer. `unreachable` heals by itself; `refused` is the request's fault, `failed` the service's. */
export class GraphError extends Error {
  /**
   * @param {Kind} kind
   * @param {string} message
   */
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

const AWAY = new Set([502, 503, 504]);

/**
 * The data of an operation. Throws GraphError; a request that is aborted throws what `fetch` does.
 * @template {keyof import("../graph.js").Operations} Name
 * @param {Operation<Name>} operation
 * @param {Variables<Name>} variables
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<Result<Name>>}
 */
export async function request(operation, variables, { signal } = {}) {
  const response = await fetch("/graphql", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify({ query: operation, variables }),
    signal,
  }).catch((error) => unreachable(signal, error));
  if (response.status === 401) {
    signedOut();
    throw new GraphError("signed-out", "The session has ended. Sign in again.");
  }
  if (AWAY.has(response.status)) unreachable(signal);
  const text = await response.text().catch((error) => unreachable(signal, error));
  const body = parsed(text);
  if (!response.ok || body === null) {
    throw new GraphError(response.status < 500 ? "refused" : "failed", body?.detail ?? `The service answered ${response.status}.`);
  }
  if (body.errors) throw graphError(body.errors);
  return body.data;
}

/** What a proxy answers in the service's place may be no JSON. It was reached all the same: asking on would never end. @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * @param {AbortSignal | undefined} signal
 * @param {unknown} [error]
 * @returns {never}
 */
function unreachable(signal, error) {
  if (signal?.aborted) throw error;
  lost();
  throw new GraphError("unreachable", "The service cannot be reached. This page goes on by itself when it is back.");
}

/** @param {{ message: string, extensions?: { code?: string } }[]} errors */
export function graphError(errors) {
  const codes = errors.map((error) => error.extensions?.code);
  const kind = codes.includes("INTERNAL") ? "failed" : codes.every((code) => code === "NOT_FOUND") ? "missing" : "refused";
  return new GraphError(kind, [...new Set(errors.map((error) => error.message))].join(" "));
}
