/** Finding rooms for what is wanted. */

import { rounded } from './clock.mjs';
import { length } from './spans.mjs';

/**
 * The first free span of a calendar that takes so many minutes, on or after a time; its
 * begin is rounded up to quarters of an hour. null where there is none.
 */
export function firstFit(calendar, needed, after = 0) {
  for (const span of calendar.free(needed)) {
    const from = rounded(Math.max(span.from, after), 15, true);
    if (from + needed <= span.to) return { from, to: from + needed };
  }
  return null;
}

/** Calendars from the least booked to the most; those that are alike stay in their order. */
export function ranked(calendars) {
  return [...calendars].sort((one, other) => one.load() - other.load());
}

/**
 * Books each wish ({ who, needed, after }) in the calendar where it can begin first, the
 * least booked one where several can. Gives { who, room, from } for each, room null where
 * none has time; longer wishes are served first, but told in the order of the wishes.
 */
export function plan(calendars, wishes) {
  const places = new Map();
  for (const wish of longestFirst(wishes)) {
    let best = null;
    for (const calendar of ranked(calendars)) {
      const fit = firstFit(calendar, wish.needed, wish.after ?? 0);
      if (fit && (best === null || fit.from < best.fit.from)) best = { calendar, fit };
    }
    if (best) best.calendar.book(wish.who, best.fit.from, best.fit.to);
    places.set(wish, {
      who: wish.who,
      room: best ? best.calendar.room : null,
      from: best ? best.fit.from : null,
    });
  }
  return wishes.map((wish) => places.get(wish));
}

function longestFirst(wishes) {
  const spans = wishes.map((wish) => ({ wish, span: { from: 0, to: wish.needed } }));
  spans.sort((one, other) => length(other.span) - length(one.span));
  return spans.map((one) => one.wish);
}
