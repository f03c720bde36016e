import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clock, minutes, rounded } from '../src/index.mjs';

test('a time of a day in minutes', () => {
  assert.equal(minutes('0:00'), 0);
  assert.equal(minutes('9:05'), 545);
});

test('a day ends at 24:00', () => {
  assert.equal(minutes(' 24:00 '), 1440);
  assert.throws(() => minutes('24:01'), RangeError);
});

test('what is no time is refused', () => {
  assert.throws(() => minutes('9'), RangeError);
  assert.throws(() => minutes('9:60'), RangeError);
});

test('minutes of an hour may be 59', () => {
  assert.equal(minutes('10:59'), 659);
});

test('minutes as a time', () => {
  assert.equal(clock(65), '01:05');
  assert.equal(clock(1440), '24:00');
});

test('rounded to the nearest quarter', () => {
  assert.equal(rounded(7), 0);
  assert.equal(rounded(8), 15);
  assert.equal(rounded(30), 30);
});

test('halves are rounded up', () => {
  assert.equal(rounded(5, 10), 10);
});

test('rounded up on demand', () => {
  assert.equal(rounded(61, 60, true), 120);
  assert.equal(rounded(60, 60, true), 60);
});
