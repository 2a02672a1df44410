// The steps of a trajectory, loaded page by page where somebody looks, and searched.
import { graphql, request } from "./graph.js";
import { signal } from "./html.js";

/** Steps of a page. */
export const PAGE = 100;
const LARGEST = 500;
const MOST_CHARACTERS = 30_000_000;

export const STEP_PAGE = graphql`
  fragment StepPage on StepConnection { pageInfo { endCursor } edges { node { step tool command observation } } }
`;

const STEPS = /** @type {import("./graph.js").Operation<"Steps">} */ (graphql`
  query Steps($id: ID!, $first: Int!, $after: String) {
    evaluationTrial(id: $id) { id trajectory { artifactId steps(first: $first, after: $after) { ...StepPage } } }
  }
  ${STEP_PAGE}
`);

const CURSORS = /** @type {import("./graph.js").Operation<"StepCursors">} */ (graphql`
  query StepCursors($id: ID!, $first: Int!, $after: String) {
    evaluationTrial(id: $id) { id trajectory { artifactId steps(first: $first, after: $after) { edges { cursor } } } }
  }
`);

/** @typedef {{ step: number, tool: string, command: string, observation: string }} Step */
/** @typedef {{ pageInfo: { endCursor: string | null }, edges: { node: Step }[] }} Connection */

/** @param {Step} step */
const size = ({ tool, command, observation }) => tool.length + command.length + observation.length;

export class Steps {
  /**
   * @param {string} trialId
   * @param {number} count how many there are
   * @param {Connection} [first] its first page, where that is known
   */
  constructor(trialId, count, first) {
    this.trialId = trialId;
    this.count = count;
    /** Counts up with each page that has come. */
    this.changed = signal(0);
    this.error = signal(/** @type {Error | null} */ (null));
    /** @type {Map<number, { steps: Step[], characters: number }>} */
    this.pages = new Map();
    /** Behind which each page begins. @type {Map<number, string | null>} */
    this.cursors = new Map([[0, null]]);
    this.wanted = { from: 0, to: 0 };
    this.working = false;
    if (first) this.keep(0, first);
  }

  /** @param {number} index from 0; undefined while it is not here */
  at(index) {
    return this.pages.get(Math.floor(index / PAGE))?.steps[index % PAGE];
  }

  /** Sees to it that these steps come; what was wanted before and is not here is no longer. @param {number} from @param {number} to */
  want(from, to) {
    this.wanted = { from: Math.floor(from / PAGE), to: Math.floor(Math.max(to - 1, from) / PAGE) };
    if (!this.working && this.missing() !== undefined) void this.work();
  }

  missing() {
    for (let page = this.wanted.from; page <= this.wanted.to && page * PAGE < this.count; page += 1) {
      if (!this.pages.has(page)) return page;
    }
    return undefined;
  }

  async work() {
    this.working = true;
    this.error.value = null;
    try {
      for (let page = this.missing(); page !== undefined; page = this.missing()) await this.load(page, PAGE);
    } catch (error) {
      this.error.value = /** @type {Error} */ (error);
    } finally {
      this.working = false;
    }
  }

  /** @param {number} page @param {number} first how many steps from its first one, a multiple of PAGE */
  async load(page, first) {
    const variables = { id: this.trialId, first, after: await this.cursor(page) };
    const trajectory = (await request(STEPS, variables)).evaluationTrial?.trajectory;
    if (!trajectory?.steps.edges.length) throw new Error("The steps of this trajectory are not there any more.");
    this.keep(page, trajectory.steps);
  }

  /** @param {number} page */
  async cursor(page) {
    let known = page;
    while (!this.cursors.has(known)) known -= 1;
    while (known < page) {
      const variables = { id: this.trialId, first: LARGEST, after: this.cursors.get(known) };
      const edges = (await request(CURSORS, variables)).evaluationTrial?.trajectory?.steps.edges ?? [];
      if (edges.length < PAGE) throw new Error("The trajectory has fewer steps than it said.");
      for (let end = PAGE; end <= edges.length; end += PAGE) this.cursors.set(++known, edges[end - 1].cursor);
    }
    return this.cursors.get(page);
  }

  /** @param {number} page @param {Connection} connection */
  keep(page, connection) {
    const found = connection.edges.map(({ node }) => node);
    for (let begin = 0; begin < found.length; begin += PAGE) {
      const steps = found.slice(begin, begin + PAGE);
      const characters = steps.reduce((sum, step) => sum + size(step), 0);
      this.pages.set(page + begin / PAGE, { steps, characters });
    }
    if (found.length % PAGE === 0) this.cursors.set(page + found.length / PAGE, connection.pageInfo.endCursor);
    this.forget();
    this.changed.value += 1;
  }

  /** Lets go of what is farthest from where somebody looks, when it is too much to keep. */
  forget() {
    const distance = (/** @type {number} */ page) => Math.max(this.wanted.from - page, page - this.wanted.to, 0);
    const far = [...this.pages.keys()].sort((one, other) => distance(other) - distance(one));
    let characters = [...this.pages.values()].reduce((sum, page) => sum + page.characters, 0);
    for (const page of far) {
      if (characters <= MOST_CHARACTERS || distance(page) === 0) break;
      characters -= this.pages.get(page)?.characters ?? 0;
      this.pages.delete(page);
    }
  }

  /**
   * Looks through all steps for what matches; tells the indices found and how many steps have been looked at, again and again.
   * @param {RegExp} find
   * @param {AbortSignal} signal
   * @param {(found: number[], searched: number) => void} tell
   */
  async search(find, signal, tell) {
    /** @type {number[]} */
    const found = [];
    const matches = (/** @type {Step} */ step) => [step.tool, step.command, step.observation].some((text) => text.search(find) !== -1);
    for (let index = 0; index < this.count && !signal.aborted; index += 1) {
      if (index % PAGE === 0 && !this.at(index)) await this.load(index / PAGE, LARGEST);
      const step = this.at(index);
      if (step && matches(step)) found.push(index);
      if ((index + 1) % LARGEST === 0 && !signal.aborted) {
        tell([...found], index + 1);
        await new Promise((next) => setTimeout(next));
      }
    }
    if (!signal.aborted) tell(found, this.count);
  }
}
