// One trajectory, readable.
function turnScores(t) {
  const found = new Map();
  const add = (turn, name, value, about) => found.set(turn, [...(found.get(turn) || []), [name, value, about]]);
  for (const [metric, turn, value, detail] of t.record.scores || []) {
    if (turn != null) add(turn, metric, value, t.text(detail));
    let held;
    try { held = JSON.parse(plain(t.text(detail)) || 'null'); } catch { held = null; }
    if (!held || !Array.isArray(held.turns)) continue;
    for (const [name, values] of Object.entries(held)) {
      if (name === 'turns' || !Array.isArray(values) || values.length !== held.turns.length) continue;
      values.forEach((one, at) => { if (typeof one === 'number') add(held.turns[at], `${metric}.${name}`, one); });
    }
  }
  return found;
}
function folded(summary, ...inside) {
  const made = el('details', null, el('summary', null, summary));
  made.addEventListener('toggle', () => { if (made.open && made.childElementCount === 1) put(made, inside.map(one => one())); });
  return made;
}
const detailOf = packed => packed == null ? null : folded('detail', () => words(pretty(packed), 'pre'));

function overview(t) {
  const row = t.row, record = t.record, parent = run.columns.parent[row], pivot = run.columns.pivot[row];
  const model = trait(row, 'model'), fault = trait(row, 'fault'), reward = run.columns.reward[row];
  const lines = [
    ['task', el('span', null, el('a', {href: '#task=' + trait(row, 'task')}, short(trait(row, 'task'))), ' ', goal(row))],
    ['made by', `${trait(row, 'method')}, ${trait(row, 'policy')}${model ? ` (${model})` : ''}, ${trait(row, 'authorship')}`],
    ['trial', `${run.columns.trial[row]}, attempt ${run.columns.attempt[row]}, seed ${record.seed ?? 0}`],
    ['ended', `${trait(row, 'end')}${reward == null ? '' : ', reward ' + number(reward)}`],
    fault && ['fault', el('span.bad', null, `at the ${fault} boundary `, words(t.text(record.fault) || ''))],
    parent != null && ['continues', el('span', null, typeof parent === 'number' ? link(parent) : short(parent) + ' (not on this page)',
      pivot == null ? '' : ` from turn ${pivot}`, run.columns.informed[row] ? '; by somebody who saw gold ' : ' ',
      typeof parent === 'number' && el('a.act', {href: `#d=${run.columns.id[parent]},${t.id}`}, 'side by side'))],
    run.children.get(row) && ['continued by', el('span', null, run.children.get(row).slice(0, 40).map(child => [link(child), ' ',
      badge(trait(child, 'outcome'), KINDS[trait(child, 'outcome')]), ` ${trait(child, 'method')} `,
      el('a.act', {href: `#d=${t.id},${run.columns.id[child]}`}, 'side by side'), el('br')]))],
    ['used', used(record)],
    record.sampling && ['sampling', JSON.stringify(record.sampling)],
    ['compare', compareWith(row)],
  ];
  return el('dl', null, lines.filter(Boolean).map(([name, value]) => [el('dt', null, name), el('dd', null, value)]));
}
const link = row => el('a', {href: '#t=' + run.columns.id[row]}, short(run.columns.id[row]));
function used(record) {
  const [prompt, completion, calls] = record.tokens;
  if (!calls) return 'no reply of a model';
  const price = record.cost == null ? 'price not known' : '$' + number(record.cost) +
    (record.unpriced ? ` without ${counted(record.unpriced, 'call')} whose price is not known` : '');
  return `${counted(prompt + completion, 'token')} (${number(completion)} written) in ${counted(calls, 'call')}, ${price}`;
}
function compareWith(row) {
  const others = [];
  for (let other = 0; other < run.size && others.length < 200; other++) {
    if (other !== row && run.columns.task[other] === run.columns.task[row]) others.push(other);
  }
  if (!others.length) return 'no other attempt at this task';
  return el('select', {'aria-label': 'Set beside another attempt at this task', onchange: event => {
    if (event.target.value) location.hash = `#d=${run.columns.id[row]},${event.target.value}`;
  }}, el('option', {value: ''}, `with one of ${counted(others.length, 'other')} of this task`), others.map(other =>
    el('option', {value: run.columns.id[other]}, `${short(run.columns.id[other])} ${trait(other, 'outcome')}, ${trait(other, 'method')}`)));
}
function verdictBadge(passed) {
  return badge(passed == null ? 'undefined' : passed ? 'passed' : 'failed', passed == null ? 'none' : passed ? 'pass' : 'fail');
}
function verdicts(t) {
  const {check, decisions, scores} = t.record;
  const parts = [];
  if (check) {
    parts.push(el('h3', null, 'Check ', verdictBadge(check.passed)));
    parts.push(el('ul.plain', null, check.parts.map(([name, passed, evidence]) => el('li', null, verdictBadge(passed),
      ' ', name, evidence.map(line => words(t.text(line), 'div.text.evidence'))))));
  }
  if (decisions && decisions.length) {
    parts.push(el('h3', null, 'Decisions'), el('ul.plain', null, decisions.map(([name, keep, reason, score, detail]) => el('li', null,
      badge(keep == null ? 'undefined' : keep ? 'keep' : 'drop', keep == null ? 'none' : keep ? 'pass' : 'fail'),
      ` ${name}: ${reason}${score == null ? '' : ', ' + number(score)}`, detailOf(t.text(detail))))));
  }
  const whole = (scores || []).filter(([, turn]) => turn == null);
  if (whole.length) {
    parts.push(el('h3', null, 'Scores'), el('ul.plain.scores', null, whole.map(([metric, , value, detail]) =>
      el('li', null, metric, ' ', el('b', null, number(value)), detailOf(t.text(detail))))));
  }
  return parts.length ? el('div.verdicts', null, parts) : null;
}
function observation(t, one, other) {
  const name = {user: 'user', environment: 'world'}[one.source] || `tool ${one.name || ''}`;
  return el('div.seen' + (one.error ? '.error' : '') + (one.source === 'user' ? '.user' : ''), null,
    el('span.who', null, name, one.error ? ' (error)' : ''), words(pretty(t.text(one.text)), 'div.text', other),
    one.planted && el('div.note.planted', null, el('b', null, 'planted'), '; the world had answered: ', words(t.text(one.planted[0]))),
    one.wording && el('div.note', null, one.wording.down.map(([kinds, text]) => el('div', null, `turned down (${kinds}): `, words(t.text(text)))),
      one.wording.fell ? 'the scripted words: no wording would do' : [`worded by ${one.wording.model}; the script: `, words(t.text(one.wording.scripted))]));
}
// `other`: the turn beside it, with its texts, where the differing parts are to be marked.
function turn(t, one, scores, other) {
  const pivot = run.columns.pivot[t.row];
  const beside = (mine, list, at) => other && list[at] != null ? plain(pretty(other.text(list[at]))) : undefined;
  const theirs = other ? {calls: (other.turn.calls || []).map(call => call[1]), seen: (other.turn.seen || []).map(o => o.text)} : null;
  return el('article.turn' + (one.mask ? '.masked' : '') + (one.injected ? '.injected' : ''), {tabindex: '-1', 'data-turn': one.at,
    'aria-label': `Turn ${one.at}`},
    el('header', null, el('b', null, `[${one.at}]`),
      pivot === one.at && badge('pivot: the continuation begins', 'accent'),
      one.agent && badge(one.agent), one.by && badge('by: ' + one.by),
      one.injected && badge('injected: ' + one.injected, 'warn'), one.mask && badge('masked: ' + one.mask),
      one.reward != null && badge('reward ' + number(one.reward)),
      (one.repairs || []).length > 0 && badge('repaired: ' + one.repairs.join(', '), 'warn'),
      el('span.quiet.used', null, one.tokens ? counted(one.tokens[0] + one.tokens[1], 'token') : '', one.ms ? ` ${number(one.ms)} ms` : '')),
    one.thought != null && el('div.thought', null, el('span.who', null, 'thinks'), words(t.text(one.thought), 'div.text', other && plain(other.text(other.turn.thought)))),
    one.said != null && el('div.said', null, el('span.who', null, 'agent'), words(t.text(one.said), 'div.text', other && plain(other.text(other.turn.said)))),
    (one.calls || []).map(([name, given, problem], at) => el('div.call', null, el('span.who', null, 'calls ', el('code', null, t.text(name))),
      words(pretty(t.text(given)), 'pre', theirs ? beside(one, theirs.calls, at) : undefined), problem && el('div.note.bad', null, problem))),
    (one.seen || []).map((o, at) => observation(t, o, theirs ? beside(one, theirs.seen, at) : undefined)),
    scores && scores.get(one.at) && el('ul.chips', {'aria-label': 'Scores of this turn'}, scores.get(one.at).map(([name, value, about]) =>
      el('li', null, name, ' ', el('b', null, number(value)), about != null && detailOf(about)))));
}
function prompt(t) {
  const {record} = t;
  return [
    record.prompt != null && folded('System prompt', () => words(t.text(record.prompt), 'pre')),
    record.tools != null && folded(`Tools as the model was shown them`, () => words(pretty(t.text(record.tools)), 'pre')),
    (record.opening || []).map(one => observation(t, one)),
  ];
}
function transcript(t) {
  const scores = turnScores(t), {record} = t, pivot = run.columns.pivot[t.row] ?? 0, turns = record.turns || [];
  const guided = record.guidance != null && el('div.note.guided', null, el('b', null, 'whispered from here on'), ', in no transcript: ', words(t.text(record.guidance)));
  const one = item => [item.at === pivot && guided, turn(t, item, scores)];
  const before = turns.filter(item => item.mask === 'before_pivot');
  const rest = turns.filter(item => item.mask !== 'before_pivot');
  return el('div.transcript', null, prompt(t),
    before.length > 0 && folded(`Turns ${before[0].at} to ${before[before.length - 1].at}: as in the trajectory that it continues (masked)`,
      () => before.map(one)), rest.map(one), !turns.length && el('p', null, 'No turn was taken.'));
}
