// Two trajectories side by side: what they share folded, the divergence marked.
function sideBySide(a, b) {
  const found = divergence(a, b);
  const left = a.record.turns || [], right = b.record.turns || [];
  const from = !found ? Math.max(left.length, right.length) : found.row ?? 0;
  const scores = [turnScores(a), turnScores(b)];
  const said = !found ? `The same to the last observation (${counted(left.length, 'turn')}).`
    : `${found.turn == null ? 'The opening' : 'Turn ' + found.turn}: the ${found.what} differs; what comes before is the same.`;
  const cell = (t, turns, at, other, others) => el('div.side', {'data-side': short(t.id)},
    turns[at] ? turn(t, turns[at], scores[t === a ? 0 : 1], found && at === from && others[at] ? {turn: others[at], text: other.text} : null)
      : at === turns.length ? el('p.over', null, `ended: ${trait(t.row, 'end')}, `, badge(trait(t.row, 'outcome'), KINDS[trait(t.row, 'outcome')])) : null);
  const pair = at => el('div.pair' + (found && at === from ? '.parting' : ''), null, cell(a, left, at, b, right), cell(b, right, at, a, left));
  const most = Math.max(left.length, right.length) + 1;
  const rows = [];
  for (let at = from; at < most; at++) rows.push(pair(at));
  const openings = () => el('div.pair', null, [a, b].map(t => el('div.side', {'data-side': short(t.id)}, prompt(t))));
  const same = () => { const shared = []; for (let at = 0; at < from; at++) shared.push(pair(at)); return shared; };
  return el('div.compared', null,
    run.columns.task[a.row] !== run.columns.task[b.row] && el('p.bad', null, 'Attempts at different tasks: what differs says little about the agents.'),
    el('div.pair.heads', null, [a, b].map(t => el('div.side', null, link(t.row), ' ', badge(trait(t.row, 'outcome'), KINDS[trait(t.row, 'outcome')]),
      ` ${trait(t.row, 'method')} `, relation(a, b, t)))),
    found && found.turn == null ? openings() : folded('Opening: the same', openings),
    from > 0 && folded(from === 1 ? 'Turn 0: the same' : `Turns 0 to ${from - 1}: the same`, same),
    el('p.divergence', {id: 'divergence', tabindex: '-1', role: 'status'}, said), rows);
}
// What one is to the other: a retry or an injected run beside what it continues.
function relation(a, b, t) {
  const other = t === a ? b : a;
  if (run.columns.parent[t.row] === other.row) return el('span.quiet', null, `continues the other from turn ${run.columns.pivot[t.row]}`);
  if (run.columns.parent[other.row] === t.row) {
    return el('span.quiet', null, trait(other.row, 'method') === 'failure_injection' ? 'clean twin' : 'base');
  }
  return '';
}
