// What the lines of exports are like. It stands in the address under the names of the exports' own parameters.
import { address, setQuery } from "./address.js";
import { html } from "./html.js";

/** What the service gives of every pair unless told otherwise. */
export const PAIRS_OF_A_VERSION = 100;

const TRL = "trl";

/** @typedef {{ kind: string, url: string, filename: string, formats: { name: string, url: string, filename: string }[] }} Export */
/** @typedef {{ name: string, label: string, values: [string, string][] }} Choice values with what they are called; the first is the default */

const PAIR = /** @type {Choice} */ ({
  name: "pair",
  label: "Answers",
  values: [
    ["trajectory", "whole trajectories"],
    ["divergence", "the first step that differs"],
  ],
});
const PAIRS = /** @type {Choice} */ ({
  name: "pairs",
  label: "Pairs",
  values: [
    ["extreme", "one of each version"],
    ["all", "every two that differ"],
  ],
});

/** Kinds of one format have it under one name. @param {Export} given */
const parameter = ({ kind }) => (kind === "PREFERENCE" ? "pairFormat" : "format");

/** @param {Choice} choice */
function picked({ name, values }) {
  const wanted = address.value.query.get(name);
  return values.find(([value]) => value === wanted)?.[0] ?? values[0][0];
}

/** How an export is asked for as the address has it. @param {Export} given */
export function chosen(given) {
  const wanted = address.value.query.get(parameter(given));
  const format = given.formats.find(({ name }) => name === wanted) ?? given.formats[0];
  const apart = format.name === TRL ? [PAIR, PAIRS].filter((choice) => picked(choice) !== choice.values[0][0]) : [];
  const named = format === given.formats[0] ? "" : ` --format ${format.name}`;
  return {
    format: format.name,
    url: format.url + apart.map((choice) => `&${choice.name}=${picked(choice)}`).join(""),
    filename: format.filename,
    options: named + apart.map((choice) => ` --${choice.name} ${picked(choice)}`).join(""),
    everyPair: apart.includes(PAIRS),
  };
}

/** Whether the number of lines is known before. @param {Export} given */
export const counts = (given) => chosen(given).format === given.formats[0].name;

/** @param {{ exports: Export[] }} props */
export function ExportChoices({ exports }) {
  const pairs = exports.find(({ kind }) => kind === "PREFERENCE");
  const rollouts = exports.find(({ kind }) => kind !== "PREFERENCE");
  return html`<form class="scope" aria-label="What lines are like" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    ${rollouts && html`<${Pick} choice=${formats(rollouts, "Rollouts as")} />`}
    ${pairs && html`<${Pick} choice=${formats(pairs, "Pairs as")} />`}
    ${pairs && chosen(pairs).format === TRL && [PAIR, PAIRS].map((choice) => html`<${Pick} choice=${choice} />`)}
  </form>`;
}

/** @param {Export} given @param {string} label @returns {Choice} */
const formats = (given, label) => ({ name: parameter(given), label, values: given.formats.map(({ name }) => [name, name]) });

/** @param {{ choice: Choice }} props */
const Pick = ({ choice }) => html`<label>
  ${choice.label}
  <select
    value=${picked(choice)}
    onChange=${(/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) =>
      setQuery({ [choice.name]: event.currentTarget.value === choice.values[0][0] ? null : event.currentTarget.value })}
  >
    ${choice.values.map(([value, label]) => html`<option value=${value}>${label}</option>`)}
  </select>
</label>`;
