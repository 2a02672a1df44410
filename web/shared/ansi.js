// Text with ANSI codes: its colours, as ones that can be read on this page, and what a search found in it.
import Anser from "../vendor/anser.js";
import { html } from "./html.js";
import { visible } from "./text.js";

const SEQUENCE = /(\u001b\[[0-?]*[ -/]*[@-~])/;
const STYLE = /^\u001b\[([\d;]*m)$/;
const HUES = ["red", "yellow", "green", "cyan", "blue", "magenta"];
const DECORATIONS = new Set(["bold", "dim", "italic", "underline", "strikethrough"]);
const LEAST_COLOURFUL = 48;
const GREY = [64, 176];

/**
 * The nearest of the colours that have enough contrast in light and dark; "" for black and white, which are the page's own.
 * @param {string} rgb such as "187, 0, 0"
 */
function nearest(rgb) {
  const [red, green, blue] = rgb.split(",").map(Number);
  const most = Math.max(red, green, blue);
  const range = most - Math.min(red, green, blue);
  if (range < LEAST_COLOURFUL) return most > GREY[0] && most < GREY[1] ? "grey" : "";
  const sixth =
    most === red ? (green - blue) / range : most === green ? 2 + (blue - red) / range : 4 + (red - green) / range;
  return HUES[(Math.round(sixth) + 6) % 6];
}

/** @param {import("anser").AnserJsonEntry} style */
function classes({ fg, bg, decorations }) {
  const behind = bg && nearest(bg);
  // Text on a colour has the page's own: a text in the colour behind it would be hidden.
  const colour = behind ? `ansi-on-${behind}` : fg && nearest(fg) && `ansi-${nearest(fg)}`;
  return [colour, ...decorations.filter((one) => DECORATIONS.has(one)).map((one) => `ansi-${one}`)].filter(Boolean).join(" ");
}

/**
 * @param {string} text
 * @param {RegExp | null} find with one group around the whole, as `finding` makes it
 */
function marked(text, find) {
  if (find === null) return visible(text);
  return text.split(find).map((part, index) => (index % 2 ? html`<mark>${visible(part)}</mark>` : visible(part)));
}

/** What finds these words in any case; null for none. @param {string} words */
export const finding = (words) =>
  words === "" ? null : new RegExp(`(${words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")})`, "giu");

/**
 * The text in parts. Codes that move the cursor are left out; any other character is shown.
 * @param {string} text
 * @param {RegExp | null} [find] what to mark
 */
export function styled(text, find = null) {
  const lines = text.replaceAll("\r\n", "\n");
  if (!lines.includes("\u001b[")) return marked(lines, find);
  // Of the library only the reading of codes: it would leave out text behind some that are none.
  const reader = /** @type {any} */ (new Anser());
  let style = "";
  return lines.split(SEQUENCE).map((part, index) => {
    if (index % 2 === 0) return style ? html`<span class=${style}>${marked(part, find)}</span>` : marked(part, find);
    const code = STYLE.exec(part);
    if (code) style = classes(reader.processChunkJson(code[1], {}, true));
    return null;
  });
}
