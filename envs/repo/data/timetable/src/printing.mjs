/** Calendars as text. */

import { clock } from './clock.mjs';

/** Words in lines of at most `width` letters; a longer word has a line of its own. */
export function wrapped(text, width) {
  const lines = [];
  let line = '';
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (line && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line ? `${line} ${word}` : word;
    }
  }
  if (line) lines.push(line);
  return lines;
}

/**
 * Rows of texts in columns, each as wide as its longest text; two spaces between, none at
 * the end of a line. `right` names the columns (by number) that are flush right.
 */
export function columns(rows, right = []) {
  const widths = [];
  for (const row of rows) {
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, cell.length);
    });
  }
  return rows.map((row) => aligned(row, widths, right).join('  ').trimEnd());
}

/** A calendar's bookings in order, a line each: begin, end, who. */
export function agenda(calendar, width = 30) {
  const rows = [...calendar.bookings.values()].sort((one, other) => one.from - other.from);
  const cells = rows.map((one) => {
    const [first = '', ...more] = wrapped(one.who, width);
    return [clock(one.from), clock(one.to), more.length ? `${first} ...` : first];
  });
  return columns(cells);
}

function aligned(row, widths, right) {
  return row.map((cell, at) =>
    right.includes(at) ? cell.padStart(widths[at]) : cell.padEnd(widths[at]),
  );
}
