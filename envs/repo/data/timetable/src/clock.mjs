/** Times of a day, as minutes since midnight. */

export const DAY = 24 * 60;

/**
 * The minutes since midnight of a time such as "9:05" or "24:00".
 * Throws a RangeError for what is no time of a day.
 */
export function minutes(text) {
  const found = /^(\d{1,2}):(\d{2})$/.exec(text.trim());
  if (!found) throw new RangeError(`no time: ${text}`);
  const hours = Number(found[1]);
  const rest = Number(found[2]);
  const total = hours * 60 + rest;
  if (rest > 59 || total > DAY) throw new RangeError(`no time: ${text}`);
  return total;
}

/** A number of minutes as a time of two digits each: 65 is "01:05". */
export function clock(total) {
  const hours = Math.floor(total / 60);
  return `${padded(hours)}:${padded(total % 60)}`;
}

/**
 * Minutes rounded to a step (15 unless it is said): to the nearest one, halves up; with
 * `up` always up.
 */
export function rounded(total, step = 15, up = false) {
  const rest = total % step;
  if (rest === 0) return total;
  const below = total - rest;
  if (up || rest * 2 >= step) return below + step;
  return below;
}

function padded(number) {
  return String(number).padStart(2, '0');
}
