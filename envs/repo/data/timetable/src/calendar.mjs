/** What is booked in one room on one day. */

import { DAY, clock } from './clock.mjs';
import { length, merged, overlaps, without } from './spans.mjs';

export class Calendar {
  /** A room is open from `opens` to `closes`, in minutes; all day unless it is said. */
  constructor(room, opens = 0, closes = DAY) {
    this.room = room;
    this.open = { from: opens, to: closes };
    this.bookings = new Map();
    this.counter = 0;
    this.keptLoad = null;
  }

  /**
   * Books a span for somebody, and gives the number of the booking. Throws an Error where
   * the room is closed, or taken.
   */
  book(who, from, to) {
    const span = { from, to };
    if (length(span) === 0) throw new RangeError('an empty booking');
    if (from < this.open.from || to > this.open.to) throw new Error(`${this.room} is closed`);
    for (const taken of this.bookings.values()) {
      if (overlaps(span, taken)) throw new Error(`${this.room} is taken at ${clock(taken.from)}`);
    }
    this.counter += 1;
    this.bookings.set(this.counter, { who, from, to });
    this.keptLoad = null;
    return this.counter;
  }

  /** Takes a booking back; whether there was one. */
  cancel(number) {
    const found = this.bookings.delete(number);
    if (found) this.keptLoad = null;
    return found;
  }

  /** Moves a booking to another begin; it keeps its length and number. Throws as `book` does. */
  move(number, from) {
    const old = this.bookings.get(number);
    if (!old) throw new RangeError(`no booking ${number}`);
    this.bookings.delete(number);
    const span = { from, to: from + length(old) };
    const closed = span.from < this.open.from || span.to > this.open.to;
    const taken = [...this.bookings.values()].some((one) => overlaps(span, one));
    this.bookings.set(number, closed || taken ? old : { who: old.who, ...span });
    if (closed) throw new Error(`${this.room} is closed`);
    if (taken) throw new Error(`${this.room} is taken`);
    this.keptLoad = null;
  }

  /** The spans that are still free, of at least so many minutes. */
  free(shortest = 1) {
    return without(this.open, [...this.bookings.values()], shortest);
  }

  /** The share of the open time that is booked, from 0 to 1. */
  load() {
    if (this.keptLoad === null) {
      const booked = merged([...this.bookings.values()]);
      const sum = booked.reduce((total, span) => total + length(span), 0);
      this.keptLoad = sum / length(this.open);
    }
    return this.keptLoad;
  }

  /** Who has booked, each once, in the order of their first booking of the day. */
  guests() {
    const rows = [...this.bookings.values()].sort((one, other) => one.from - other.from);
    return [...new Set(rows.map((one) => one.who))];
  }
}
