// Attempts of one version side by side: what each came to, and their steps, with the first at which they part.
import { styled } from "../shared/ansi.js";
import { outcomeOf, Shape } from "../shared/attempts.js";
import { returns } from "../shared/connection.js";
import { graphql } from "../shared/graph.js";
import { html, useEffect, useMemo, useRef } from "../shared/html.js";
import { count, duration, reward } from "../shared/numbers.js";
import { Output } from "../shared/output.js";
import { Page } from "../shared/page.js";
import { Answered, Empty, ErrorBox, NotFound } from "../shared/problem.js";
import { useQuery } from "../shared/query.js";
import { PAGE, STEP_PAGE, Steps } from "../shared/steps.js";
import { Table } from "../shared/table.js";
import { Text } from "../shared/text.js";
import { HEIGHT, useNamedStep } from "../shared/trajectory.js";
import { Virtual } from "../shared/virtual.js";

const FEWEST = 2;
const MOST = 4;

const COMPARISON = /** @type {import("../shared/graph.js").Operation<"Comparison">} */ (graphql`
  query Comparison($ids: [ID!]!, $first: Int!) {
    compareTrials(ids: $ids) {
      environmentVersion { id version environment { slug name } }
      stages { name values }
      firstDivergence { step actions { tool command } }
      trials {
        reward durationSeconds stepCount
        trial {
          id attempt status failureCategory failureDetail reward seed
          trajectory { artifactId steps(first: $first) { ...StepPage } }
        }
      }
    }
  }
  ${STEP_PAGE}
`);

/** @typedef {import("../shared/graph.js").Result<"Comparison">["compareTrials"]} Compared */
/** @typedef {Compared["trials"][number]} Trial */

/** @param {import("../routes.js").PageProps} props */
export default function ComparePage({ query }) {
  const ids = query.getAll("id");
  if (ids.length >= FEWEST && ids.length <= MOST) return html`<${Found} key=${ids.join()} ids=${ids} />`;
  return html`<${Page} title="Compare" crumbs=${[["Trials", "/trials"]]}>
    <${Empty} title=${ids.length > MOST ? "Too many to compare" : "Nothing to compare yet"}>
      <p>Two to four attempts of one environment version stand side by side here. Select them among the <a href="/trials">trials</a>.</p>
    <//>
  <//>`;
}

/** @param {{ ids: string[] }} props */
function Found({ ids }) {
  const answer = useQuery(COMPARISON, { ids, first: PAGE });
  const compared = answer.data?.compareTrials;
  const version = compared?.environmentVersion;
  if (answer.error?.kind === "missing") return html`<${Page} title="Compare"><${NotFound} what="trial" /><//>`;
  const crumbs = version && [
    ["Environments", "/"],
    [version.environment.name, `/environments/${encodeURIComponent(version.environment.slug)}`],
    [`Version ${version.version}`, `/versions/${version.id}`],
  ];
  const title = version ? `${version.environment.name}, ${ids.length} attempts` : "Compare";
  return html`<${Page} title=${title} crumbs=${crumbs}>
    <${Answered} answer=${answer}>${() => html`<${Summary} compared=${compared} /><${SideBySide} compared=${compared} />`}<//>
  <//>`;
}

/** Attempts of several runs may have one number: then the seed tells them apart. @param {Compared} compared */
function names(compared) {
  const numbers = compared.trials.map(({ trial }) => trial.attempt);
  const unique = new Set(numbers).size === numbers.length;
  return compared.trials.map(({ trial }, index) => `Attempt ${trial.attempt}${unique ? "" : `, seed ${trial.seed} (${index + 1})`}`);
}

/** @param {{ compared: Compared }} props */
function Summary({ compared }) {
  const named = names(compared);
  const rows = compared.trials.map((one, index) => ({ ...one, index }));
  /** @typedef {Trial & { index: number }} Row */
  const columns = /** @type {import("../shared/table.js").Column<Row>[]} */ ([
    { title: "Attempt", heading: true, cell: ({ trial, index }) => html`<a href=${`/trials/${trial.id}`}>${named[index]}</a>` },
    { title: "Outcome", cell: ({ trial }) => html`<span class="outcome-cell"><${Shape} outcome=${outcomeOf(trial)} /> ${outcomeOf(trial)}</span>` },
    { title: "Reward", numeric: true, cell: (row) => reward(row.reward) },
    ...compared.stages.map(({ name, values }) => ({
      title: name.replaceAll(/[^\w.:-]/g, "\ufffd"),
      numeric: true,
      cell: (/** @type {Row} */ { index }) => reward(values[index]),
    })),
    { title: "Failure category", cell: ({ trial }) => html`<${Text} value=${trial.failureCategory ?? "–"} />` },
    { title: "Duration", numeric: true, cell: ({ durationSeconds }) => (durationSeconds === null ? "–" : duration(durationSeconds)) },
    { title: "Steps", numeric: true, cell: ({ stepCount }) => count(stepCount) },
  ]);
  return html`<${Table} caption="Rewards and stages" columns=${columns} rows=${rows} rowKey=${(/** @type {Row} */ { trial }) => trial.id} />`;
}

/** @param {{ compared: Compared }} props */
function SideBySide({ compared }) {
  const named = names(compared);
  const total = Math.max(...compared.trials.map(({ stepCount }) => stepCount));
  const columns = useMemo(
    () => compared.trials.map(({ trial, stepCount }) => new Steps(trial.id, stepCount, trial.trajectory?.steps)),
    [compared],
  );
  const memory = useRef(/** @type {import("../shared/output.js").Memory} */ (new Map()));
  const wanted = useRef([0, 0]);
  const target = useNamedStep(total);
  const look = (/** @type {number} */ from, /** @type {number} */ to) => {
    wanted.current = [from, to];
    for (const steps of columns) if (from < steps.count) steps.want(from, Math.min(to, steps.count));
  };
  const again = () => look(wanted.current[0], wanted.current[1]);
  const error = columns.map((steps) => steps.error.value).find((one) => one !== null);
  useEffect(() => returns.subscribe(again), [columns]);
  for (const steps of columns) void steps.changed.value;
  const parting = compared.firstDivergence ? compared.firstDivergence.step - 1 : null;
  if (total === 0) return html`<${Empty} title="No steps"><p>None of these attempts asked anything of its world.</p><//>`;
  return html`<section>
    <h2>Steps</h2>
    <${Parting} compared=${compared} named=${named} />
    ${error && html`<${ErrorBox} error=${error} retry=${again} />`}
    <div class="compared">
      <${Virtual}
        count=${total}
        estimate=${HEIGHT}
        label="Steps side by side"
        target=${target}
        isReady=${(/** @type {number} */ index) => columns.every((steps) => index >= steps.count || steps.at(index) !== undefined)}
        onRange=${look}
        row=${(/** @type {number} */ index) => html`<article
          class=${`step ${index === parting ? "parting" : ""} ${target?.index === index ? "named" : ""}`}
          id=${`step-${index + 1}`}
          aria-label=${`Step ${index + 1}`}
        >
          <a class="step-number" href=${`#step-${index + 1}`} title="A link to this step">${count(index + 1)}</a>
          ${index === parting && html`<p class="parting-note">Here they part.</p>`}
          <div class=${`sides sides-${columns.length}`}>
            ${columns.map((steps, side) => html`<${Side} key=${side} name=${named[side]} steps=${steps} index=${index} place=${`${side}`} memory=${memory.current} />`)}
          </div>
        </article>`}
      />
    </div>
  </section>`;
}

/** @param {{ compared: Compared, named: string[] }} props */
function Parting({ compared, named }) {
  const parting = compared.firstDivergence;
  if (!parting) return html`<p>They ask the same in every step.</p>`;
  return html`<div class="parting-summary">
    <p>They first part at <a href=${`#step-${parting.step}`}>step ${count(parting.step)}</a>:</p>
    <ul>
      ${parting.actions.map(
        (action, index) => html`<li>
          <strong>${named[index]}</strong> ${action
            ? html`<code><bdi>${styled(`${action.tool} ${action.command}`.slice(0, 200))}</bdi></code>`
            : "has ended"}
        </li>`,
      )}
    </ul>
  </div>`;
}

/** @param {{ name: string, steps: Steps, index: number, place: string, memory: import("../shared/output.js").Memory }} props */
function Side({ name, steps, index, place, memory }) {
  const step = steps.at(index);
  const kept = `${place} ${index}`;
  return html`<div class="side-step">
    <span class="side-name">${name}</span>
    ${index >= steps.count
      ? html`<p class="hint">has ended</p>`
      : step
        ? html`<strong class="tool"><bdi>${styled(step.tool)}</bdi></strong>
            <${Output} value=${step.command} name=${`${kept} command`} memory=${memory} />
            <div class="answer"><${Output} value=${step.observation} name=${`${kept} observation`} memory=${memory} /></div>`
        : html`<p class="loading">Loading this step…</p>`}
  </div>`;
}
