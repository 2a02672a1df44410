// pass@k and pass^k as curves; the chart library comes with the first of them. Their numbers stand in a table beside.
import { lost, returns } from "./connection.js";
import { html, useEffect, useRef, useState } from "./html.js";

/** @typedef {{ k: number, estimate: number | null, passHatK: number | null }} Estimate */

const HEIGHT = 220;
const DARK = matchMedia("(prefers-color-scheme: dark)");

/** @type {Promise<typeof import("../vendor/uplot.js")> | undefined} */
let library;
let tries = 0;

function load() {
  if (library === undefined) {
    const styles = Object.assign(document.createElement("link"), {
      rel: "stylesheet",
      href: new URL("../vendor/uplot.css", import.meta.url).href,
    });
    document.head.append(styles);
    // Browsers remember that a module could not be had, so each try has an address of its own.
    tries += 1;
    const place = tries === 1 ? "../vendor/uplot.js" : `../vendor/uplot.js?try=${tries}`;
    library = /** @type {Promise<typeof import("../vendor/uplot.js")>} */ (import(place));
  }
  return library;
}

/**
 * What a colour token is now; the value of the property itself still names both, light and dark.
 * @param {HTMLElement} element
 * @param {string} token
 */
function colour(element, token) {
  element.style.color = `var(${token})`;
  const found = getComputedStyle(element).color;
  element.style.color = "";
  return found;
}

/** @param {{ estimates: Estimate[] }} props */
export function Curve({ estimates }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const [scheme, setScheme] = useState(DARK.matches);
  const [asked, setAsked] = useState(0);
  const failed = useRef(false);
  useEffect(() => returns.subscribe(() => failed.current && setAsked((count) => count + 1)), []);
  useEffect(() => {
    const changed = () => setScheme(DARK.matches);
    DARK.addEventListener("change", changed);
    return () => DARK.removeEventListener("change", changed);
  }, []);
  useEffect(() => {
    /** @type {(() => void) | undefined} */
    let stop;
    let gone = false;
    load().then(
      ({ default: Plot }) => {
        failed.current = false;
        if (!gone && element.current) stop = draw(Plot, element.current, estimates);
      },
      () => {
        library = undefined;
        failed.current = true;
        lost();
      },
    );
    return () => {
      gone = true;
      stop?.();
    };
  }, [JSON.stringify(estimates), scheme, asked]);
  return html`<div class="curve" ref=${element} role="img" aria-label="pass@k and pass^k over k; the table has their numbers"></div>`;
}

/**
 * @param {typeof import("../vendor/uplot.js").default} Plot
 * @param {HTMLElement} element
 * @param {Estimate[]} estimates
 */
function draw(Plot, element, estimates) {
  const [ink, line, ember] = ["--ink-quiet", "--line", "--ember"].map((token) => colour(element, token));
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line }, font: "12px ui-monospace, monospace" };
  const plot = new Plot(
    {
      width: element.clientWidth,
      height: HEIGHT,
      cursor: { show: false },
      legend: { show: false },
      scales: { x: { time: false }, y: { range: [0, 1] } },
      axes: [{ ...axis, incrs: [1], space: 24 }, axis],
      series: [
        {},
        { stroke: ember, width: 2, points: { show: true, fill: ember } },
        { stroke: ink, width: 2, dash: [6, 4], points: { show: true, fill: ink } },
      ],
    },
    [
      estimates.map(({ k }) => k),
      estimates.map(({ estimate }) => estimate),
      estimates.map(({ passHatK }) => passHatK),
    ],
    element,
  );
  const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
  resized.observe(element);
  return () => {
    resized.disconnect();
    plot.destroy();
  };
}
