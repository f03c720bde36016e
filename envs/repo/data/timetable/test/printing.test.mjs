import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Calendar, agenda, columns, wrapped } from '../src/index.mjs';

test('words fill lines', () => {
  assert.deepEqual(wrapped('one two three', 7), ['one two', 'three']);
});

test('a long word has a line of its own', () => {
  assert.deepEqual(wrapped('a extraordinary b', 5), ['a', 'extraordinary', 'b']);
  assert.deepEqual(wrapped('  ', 5), []);
});

test('columns are as wide as their longest text', () => {
  assert.deepEqual(
    columns([
      ['a', 'b', 'c'],
      ['long', 'b', 'c'],
    ]),
    ['a     b  c', 'long  b  c'],
  );
});

test('a column flush right', () => {
  assert.deepEqual(columns([['a', '1'], ['b', '10']], [1]), ['a   1', 'b  10']);
});

test('an agenda is in order', () => {
  const calendar = new Calendar('red');
  calendar.book('Ben', 600, 660);
  calendar.book('Ada', 540, 600);
  assert.deepEqual(agenda(calendar), ['09:00  10:00  Ada', '10:00  11:00  Ben']);
});

test('long names are cut', () => {
  const calendar = new Calendar('red');
  calendar.book('The whole team of Ada', 0, 60);
  assert.deepEqual(agenda(calendar, 10), ['00:00  01:00  The whole ...']);
});
