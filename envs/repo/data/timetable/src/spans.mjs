/** Spans of time: { from, to } in minutes; what ends when another begins does not meet it. */

/** How long a span is; one that ends before it begins is empty. */
export function length(span) {
  return Math.max(0, span.to - span.from);
}

/** Whether two spans have time in common. */
export function overlaps(one, other) {
  return one.from < other.to && other.from < one.to;
}

/** Spans in order, those that meet or touch made one; empty ones are left out. */
export function merged(spans) {
  const rows = inOrder(spans.filter((span) => length(span) > 0));
  const out = [];
  for (const span of rows) {
    const last = out[out.length - 1];
    if (last && span.from <= last.to) {
      last.to = Math.max(last.to, span.to);
    } else {
      out.push({ from: span.from, to: span.to });
    }
  }
  return out;
}

/**
 * What is left of a span when others are taken out of it, in order. `shortest` leaves out
 * what is shorter than so many minutes.
 */
export function without(span, taken, shortest = 1) {
  const out = [];
  let from = span.from;
  for (const one of merged(taken)) {
    if (!overlaps(span, one)) continue;
    if (one.from > from) out.push({ from, to: one.from });
    from = Math.max(from, one.to);
  }
  if (from < span.to) out.push({ from, to: span.to });
  return out.filter((one) => length(one) >= shortest);
}

/** The spans between the first begin and the last end that none of the spans covers. */
export function gaps(spans) {
  const rows = merged(spans);
  if (rows.length === 0) return [];
  const whole = { from: rows[0].from, to: rows[rows.length - 1].to };
  return without(whole, rows);
}

function inOrder(spans) {
  return [...spans].sort((one, other) => one.from - other.from || one.to - other.to);
}
