import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Calendar } from '../src/index.mjs';

function room() {
  const calendar = new Calendar('red', 480, 1080);
  calendar.book('Ada', 540, 600);
  calendar.book('Ben', 600, 660);
  return calendar;
}

test('bookings are numbered', () => {
  assert.equal(room().book('Cy', 700, 710), 3);
});

test('a room is booked once at a time', () => {
  assert.throws(() => room().book('Cy', 650, 700), /red is taken at 10:00/);
});

test('a closed room is not booked', () => {
  assert.throws(() => room().book('Cy', 470, 490), /red is closed/);
  assert.throws(() => room().book('Cy', 1070, 1081), /red is closed/);
});

test('an empty booking is none', () => {
  assert.throws(() => room().book('Cy', 700, 700), RangeError);
});

test('what is cancelled is free again', () => {
  const calendar = room();
  assert.equal(calendar.cancel(1), true);
  assert.equal(calendar.cancel(1), false);
  assert.equal(calendar.book('Cy', 545, 590), 3);
});

test('a booking moves with its length', () => {
  const calendar = room();
  calendar.move(1, 700);
  assert.deepEqual(calendar.bookings.get(1), { who: 'Ada', from: 700, to: 760 });
});

test('a booking stays where its new place is taken', () => {
  const calendar = room();
  assert.throws(() => calendar.move(1, 610), /taken/);
  assert.throws(() => calendar.move(1, 1050), /closed/);
  assert.equal(calendar.bookings.get(1).from, 540);
});

test('free time', () => {
  assert.deepEqual(room().free(), [
    { from: 480, to: 540 },
    { from: 660, to: 1080 },
  ]);
  assert.deepEqual(room().free(61), [{ from: 660, to: 1080 }]);
});

test('the load is a share of the open time', () => {
  assert.equal(room().load(), 0.2);
});

test('the load follows what is booked, moved and cancelled', () => {
  const calendar = room();
  assert.equal(calendar.load(), 0.2);
  calendar.book('Cy', 700, 760);
  assert.equal(calendar.load(), 0.3);
  calendar.cancel(3);
  assert.equal(calendar.load(), 0.2);
});

test('guests in the order of the day', () => {
  const calendar = room();
  calendar.book('Cy', 480, 500);
  calendar.book('Ada', 700, 710);
  assert.deepEqual(calendar.guests(), ['Cy', 'Ada', 'Ben']);
});
