import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { gaps, length, merged, overlaps, without } from '../src/index.mjs';

const span = (from, to) => ({ from, to });

describe('one or two spans', () => {
  it('has a length', () => {
    assert.equal(length(span(10, 25)), 15);
  });

  it('is empty where it ends before it begins', () => {
    assert.equal(length(span(25, 10)), 0);
  });

  it('meets what it has time in common with', () => {
    assert.equal(overlaps(span(0, 10), span(9, 20)), true);
  });

  it('does not meet what begins when it ends', () => {
    assert.equal(overlaps(span(0, 10), span(10, 20)), false);
    assert.equal(overlaps(span(10, 20), span(0, 10)), false);
  });
});

describe('many spans', () => {
  it('are put in order', () => {
    assert.deepEqual(merged([span(30, 40), span(0, 10)]), [span(0, 10), span(30, 40)]);
  });

  it('become one where they touch', () => {
    assert.deepEqual(merged([span(0, 10), span(10, 20), span(5, 7)]), [span(0, 20)]);
  });

  it('lose those that are empty', () => {
    assert.deepEqual(merged([span(5, 5), span(9, 8)]), []);
  });

  it('are not changed themselves', () => {
    const rows = [span(0, 10), span(5, 20)];
    merged(rows);
    assert.deepEqual(rows, [span(0, 10), span(5, 20)]);
  });

  it('are taken out of another', () => {
    assert.deepEqual(without(span(0, 100), [span(20, 30), span(90, 120)]), [
      span(0, 20),
      span(30, 90),
    ]);
  });

  it('leave nothing of what they cover', () => {
    assert.deepEqual(without(span(10, 20), [span(0, 30)]), []);
  });

  it('leave out what is too short', () => {
    assert.deepEqual(without(span(0, 100), [span(5, 60)], 10), [span(60, 100)]);
  });

  it('have gaps between them', () => {
    assert.deepEqual(gaps([span(50, 60), span(0, 10), span(20, 50)]), [span(10, 20)]);
    assert.deepEqual(gaps([]), []);
  });
});
