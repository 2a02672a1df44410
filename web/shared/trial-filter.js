// Which trials the explorer shows: every filter of the graph, kept in the address under the names that it has there.
import { address, setQuery } from "./address.js";
import { words } from "./attempts.js";
import { html, useState } from "./html.js";
import { count } from "./numbers.js";
import { plain, Text } from "./text.js";

/** @typedef {NonNullable<import("../graph.js").Operations["Trials"]["variables"]["filter"]>} Filter */
/** @typedef {Required<Pick<import("./graph.js").Result<"Trials">, "environments" | "capabilityGaps" | "partialRewards">>} Choices */
/** @typedef {Event & { currentTarget: HTMLInputElement }} Changed */

const STATUSES = ["QUEUED", "RUNNING", "COMPLETED", "ERRORED", "TIMED_OUT", "CANCELLED", "INTERRUPTED"];
const TEXTS = ["environmentVersionId", "evaluationRunId", "stage", "text"];
const LISTS = ["status", "failureCategory"];
const NUMBERS = ["rewardAtLeast", "rewardBelow", "stageBelow"];
const MOMENTS = ["createdAfter", "createdBefore"];
const NAMES = [...TEXTS, ...LISTS, ...NUMBERS, ...MOMENTS, "scored"];

/** What else depends on which trials are shown: a cursor is of one list. */
const FIRST_PAGE = { after: null, page: null };

/** Shows the first page of what the change leaves. @param {Parameters<typeof setQuery>[0]} changes */
export const filterBy = (changes) => setQuery({ ...changes, ...FIRST_PAGE });

/**
 * The filter that the address gives, and what of it cannot be one.
 * @param {URLSearchParams} query
 * @returns {{ filter: Filter, problems: string[] }}
 */
export function filterOf(query) {
  const given = (/** @type {string} */ name) => query.get(name) ?? "";
  const named = (/** @type {string[]} */ names) => names.filter((name) => given(name) !== "");
  const problems = [
    ...named(NUMBERS).filter((name) => !Number.isFinite(Number(given(name)))).map((name) => `${name} is no number: ${given(name)}`),
    ...named(MOMENTS).filter((name) => Number.isNaN(Date.parse(given(name)))).map((name) => `${name} is no moment such as 2026-01-31T09:00:00Z: ${given(name)}`),
    ...named(["scored"]).filter((name) => !["true", "false"].includes(given(name))).map((name) => `${name} is neither true nor false: ${given(name)}`),
  ];
  const pairs = [
    ...named(TEXTS).map((name) => [name, given(name)]),
    ...named(LISTS).map((name) => [name, query.getAll(name)]),
    ...named(NUMBERS).map((name) => [name, Number(given(name))]),
    ...named(MOMENTS).map((name) => [name, given(name)]),
    ...named(["scored"]).map((name) => [name, given(name) === "true"]),
  ];
  return { filter: Object.fromEntries(pairs), problems };
}

/** @param {{ choices: Choices | undefined }} props */
export function TrialFilter({ choices }) {
  const { query } = address.value;
  const versions = (choices?.environments.edges ?? []).flatMap(({ node }) =>
    node.versions.edges.map((edge) => /** @type {[string, string]} */ ([edge.node.id, `${node.name}, version ${edge.node.version}`])),
  );
  const stages = (choices?.partialRewards ?? []).map(({ stage }) => /** @type {[string, string]} */ ([stage, stage]));
  const gaps = choices?.capabilityGaps.gaps ?? [];
  const categories = [...new Set([...gaps.map((gap) => gap.failureCategory), ...query.getAll("failureCategory")])];
  const [isWide] = useState(() => matchMedia("(min-width: 56rem)").matches);
  const active = NAMES.filter((name) => query.has(name)).length;
  return html`<form role="search" aria-label="Filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <details class="trial-filter" open=${isWide}>
      <summary>Filters${active > 0 && `, ${active} set`}</summary>
      <div class="filter-row">
        <${Field} name="text" label="Words in log and steps" type="search" placeholder='"a phrase", -without, this or that' wide />
        <${Choose} name="environmentVersionId" label="Environment version" options=${versions} />
        <${Choose} name="scored" label="Scored" options=${[["true", "scored"], ["false", "unscored"]]} />
        <${Field} name="rewardAtLeast" label="Reward at least" type="number" />
        <${Field} name="rewardBelow" label="Reward below" type="number" />
        <${Choose} name="stage" label="With stage" options=${stages} />
        ${query.has("stage") && html`<${Field} name="stageBelow" label="Stage below" type="number" />`}
        <${Moment} name="createdAfter" label="Created after, UTC" />
        <${Moment} name="createdBefore" label="Created before, UTC" />
        <${Field} name="evaluationRunId" label="Evaluation run" placeholder="its id" />
      </div>
      <${Several} name="status" legend="Status" options=${STATUSES.map((status) => ({ value: status, label: words(status) }))} />
      ${categories.length > 0 &&
      html`<${Several}
        name="failureCategory"
        legend="Failure category"
        options=${categories.map((category) => ({
          value: category,
          label: html`<${Text} value=${category} />`,
          times: gaps.find((gap) => gap.failureCategory === category)?.trials,
        }))}
      />`}
      ${active > 0 &&
      html`<button class="quiet" type="button" onClick=${() => filterBy(Object.fromEntries(NAMES.map((name) => [name, null])))}>
        Clear ${active === 1 ? "the filter" : `all ${active} filters`}
      </button>`}
    </details>
  </form>`;
}

/** @param {{ name: string, label: string, type?: string, placeholder?: string, wide?: boolean }} props */
const Field = ({ name, label, type = "text", placeholder, wide = false }) => html`<label class=${wide ? "wide" : ""}>
  ${label}
  <input
    name=${name}
    type=${type}
    step="any"
    placeholder=${placeholder}
    value=${address.value.query.get(name) ?? ""}
    onChange=${(/** @type {Changed} */ { currentTarget: { value } }) => filterBy({ [name]: value.trim() })}
  />
</label>`;

/** @param {{ name: string, label: string }} props */
const Moment = ({ name, label }) => {
  const given = Date.parse(address.value.query.get(name) ?? "");
  return html`<label>
    ${label}
    <input
      name=${name}
      type="datetime-local"
      value=${Number.isNaN(given) ? "" : new Date(given).toISOString().slice(0, 16)}
      onChange=${(/** @type {Changed} */ { currentTarget: { value } }) => filterBy({ [name]: value && `${value}:00Z` })}
    />
  </label>`;
};

/** @param {{ name: string, label: string, options: [string, string][] }} props */
function Choose({ name, label, options }) {
  const now = address.value.query.get(name) ?? "";
  const changed = (/** @type {Event & { currentTarget: HTMLSelectElement }} */ { currentTarget: { value } }) =>
    filterBy(name === "stage" ? { stage: value, stageBelow: value && address.value.query.get("stageBelow") } : { [name]: value });
  // What is looked for may be older than what there is to choose from.
  const all = now === "" || options.some(([value]) => value === now) ? options : [...options, [now, now]];
  return html`<label>
    ${label}
    <select name=${name} value=${now} onChange=${changed}>
      <option value="">any</option>
      ${all.map(([value, shown]) => html`<option value=${value} selected=${value === now}>${plain(shown)}</option>`)}
    </select>
  </label>`;
}

/**
 * @param {{ name: string, legend: string, options: { value: string, label: import("./html.js").Children, times?: number }[] }} props
 */
function Several({ name, legend, options }) {
  const now = address.value.query.getAll(name);
  const toggle = (/** @type {string} */ value) =>
    filterBy({ [name]: now.includes(value) ? now.filter((one) => one !== value) : [...now, value] });
  return html`<fieldset class="several">
    <legend>${legend}</legend>
    ${options.map(
      ({ value, label, times }) => html`<label key=${value}>
        <input type="checkbox" checked=${now.includes(value)} onChange=${() => toggle(value)} />
        ${label}${times !== undefined && html` <span class="hint">${count(times)}</span>`}
      </label>`,
    )}
  </fieldset>`;
}
