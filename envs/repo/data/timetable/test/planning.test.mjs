import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Calendar, firstFit, plan, ranked } from '../src/index.mjs';

test('the first span that is long enough', () => {
  const calendar = new Calendar('red', 480, 720);
  calendar.book('Ada', 500, 600);
  assert.deepEqual(firstFit(calendar, 60), { from: 600, to: 660 });
  assert.deepEqual(firstFit(calendar, 20), { from: 480, to: 500 });
});

test('a begin is rounded up to quarters', () => {
  const calendar = new Calendar('red', 480, 720);
  calendar.book('Ada', 480, 601);
  assert.deepEqual(firstFit(calendar, 30), { from: 615, to: 645 });
});

test('nothing before it is wanted', () => {
  assert.deepEqual(firstFit(new Calendar('red', 480, 720), 30, 540), { from: 540, to: 570 });
});

test('no room is no fit', () => {
  assert.equal(firstFit(new Calendar('red', 480, 500), 30), null);
});

test('a span may be filled to its end', () => {
  assert.deepEqual(firstFit(new Calendar('red', 480, 510), 30), { from: 480, to: 510 });
});

test('the least booked comes first, and equals keep their order', () => {
  const rooms = ['red', 'blue', 'green'].map((name) => new Calendar(name, 0, 100));
  rooms[0].book('Ada', 0, 50);
  assert.deepEqual(
    ranked(rooms).map((one) => one.room),
    ['blue', 'green', 'red'],
  );
});

test('wishes are planned, the longest first', () => {
  const rooms = [new Calendar('red', 0, 60), new Calendar('blue', 0, 45)];
  const wishes = [
    { who: 'Ada', needed: 30 },
    { who: 'Ben', needed: 60 },
    { who: 'Cy', needed: 30 },
  ];
  assert.deepEqual(plan(rooms, wishes), [
    { who: 'Ada', room: 'blue', from: 0 },
    { who: 'Ben', room: 'red', from: 0 },
    { who: 'Cy', room: null, from: null },
  ]);
});

test('a wish waits for its time', () => {
  const rooms = [new Calendar('red', 0, 120)];
  assert.deepEqual(plan(rooms, [{ who: 'Ada', needed: 30, after: 50 }]), [
    { who: 'Ada', room: 'red', from: 60 },
  ]);
});
