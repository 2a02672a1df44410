// What every module renders with: htm's markup over preact, hooks and signals.
import htm from "../vendor/htm.js";
import { h } from "../vendor/preact.js";

/** @typedef {import("../vendor/preact.js").ComponentChildren} Children */
/** @typedef {import("../vendor/preact.js").VNode<any>} Markup */

export const html = /** @type {(strings: TemplateStringsArray, ...values: any[]) => Markup} */ (htm.bind(h));
export { Fragment, render } from "../vendor/preact.js";
export {
  useCallback,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../vendor/preact-hooks.js";
export { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect } from "../vendor/signals.js";
