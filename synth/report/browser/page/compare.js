// Where two trajectories part, by the keys that were made of their turns: as `synth diff` finds it.
const WHAT = ['action', 'observation', 'state'];

function divergence(a, b) {
  const key = (t, number) => plain(t.text(number));
  if (key(a, a.record.opened) !== key(b, b.record.opened)) return {turn: null, what: 'opening'};
  if (key(a, a.record.began) !== key(b, b.record.began)) return {turn: null, what: 'state'};
  const left = a.record.turns || [], right = b.record.turns || [];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    for (let which = 0; which < WHAT.length; which++) {
      if (key(a, left[at].keys[which]) !== key(b, right[at].keys[which])) return {turn: left[at].at, row: at, what: WHAT[which]};
    }
  }
  if (left.length !== right.length) return {turn: Math.min(left.length, right.length), row: Math.min(left.length, right.length), what: 'end'};
  return null;
}
