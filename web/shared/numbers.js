// Numbers as people read them, the same everywhere.

const COUNT = new Intl.NumberFormat("en");
const REWARD = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
const PERCENT = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** @param {number} value */
export const count = (value) => COUNT.format(value);

/**
 * "1 trial", "2 trials".
 * @param {number} value
 * @param {string} noun
 * @param {string} [nouns] its plural, when it is not noun + s
 */
export const counted = (value, noun, nouns = `${noun}s`) => `${count(value)} ${value === 1 ? noun : nouns}`;

/**
 * What is not quite 0 or 1 is not written as if it were.
 * @param {Intl.NumberFormat} format
 * @param {number} value
 * @param {number} least the smallest difference that is written
 */
function short(format, value, least) {
  if (value > 0 && value < least / 2) return `<${format.format(least)}`;
  if (value < 1 && value >= 1 - least / 2) return `>${format.format(1 - least)}`;
  return format.format(value);
}

/** A reward, stage or estimate; "–" where there is none. @param {number | null | undefined} value */
export const reward = (value) => (value == null ? "–" : short(REWARD, value, 0.001));

/** @param {number | null | undefined} value a share, 0 to 1 */
export const percent = (value) => (value == null ? "–" : short(PERCENT, value, 0.001));

/** @param {number} value */
export function bytes(value) {
  const unit = Math.min(Math.floor(Math.log10(Math.max(value, 1)) / 3), UNITS.length - 1);
  return `${REWARD.format(Number((value / 1000 ** unit).toPrecision(3)))} ${UNITS[unit]}`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
