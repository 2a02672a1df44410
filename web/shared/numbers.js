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

/** A reward, stage or estimate; "–" where there is none. @param {number | null | undefined} value */
export const reward = (value) => (value == null ? "–" : REWARD.format(value));

/** @param {number | null | undefined} value a share, 0 to 1 */
export const percent = (value) => (value == null ? "–" : PERCENT.format(value));

/** @param {number} value */
export function bytes(value) {
  const unit = Math.min(Math.floor(Math.log10(Math.max(value, 1)) / 3), UNITS.length - 1);
  return `${REWARD.format(Number((value / 1000 ** unit).toPrecision(3)))} ${UNITS[unit]}`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
