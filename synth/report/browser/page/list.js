// The list: filters, words looked for in every text, rows as they are asked for.
const PAGE = 100, OPTIONS = 2000, FILTERS = ['task', 'method', 'outcome', 'reason'];
const at = id => document.getElementById(id);
const list = {rows: [], drawn: 0, looking: 0};

function reasonsOf(row) {
  const found = run.columns.reasons[row].map(reason => run.names.reason[reason]);
  const fault = trait(row, 'fault');
  return [...found, ...(fault ? ['fault: ' + fault] : []), 'ended: ' + trait(row, 'end'),
    ...run.columns.injected[row].map(one => 'injected: ' + run.names.injected[one])];
}
function fillFilters() {
  const counts = Object.fromEntries(FILTERS.map(name => [name, new Map()]));
  const count = (name, value) => counts[name].set(value, (counts[name].get(value) || 0) + 1);
  for (let row = 0; row < run.size; row++) {
    for (const name of ['task', 'method', 'outcome']) count(name, trait(row, name));
    for (const reason of reasonsOf(row)) count('reason', reason);
  }
  for (const name of FILTERS) {
    const values = [...counts[name]].sort((one, other) => name === 'task' ? (one[0] < other[0] ? -1 : 1) : other[1] - one[1]);
    if (values.length > OPTIONS) put(at('filter-' + name), [el('option', {disabled: true}, `${OPTIONS} of ${counted(values.length, name)}; search for the others`)]);
    put(at('filter-' + name), values.slice(0, OPTIONS).map(([value, n]) =>
      el('option', {value}, `${name === 'task' ? short(value) : value} (${n.toLocaleString('en-US')})`)));
  }
}
function passes(row, chosen) {
  return (!chosen.task || trait(row, 'task') === chosen.task) && (!chosen.method || trait(row, 'method') === chosen.method) &&
    (!chosen.outcome || trait(row, 'outcome') === chosen.outcome) && (!chosen.reason || reasonsOf(row).includes(chosen.reason));
}
const headOf = row => `${run.columns.id[row]} ${goal(row)} ${trait(row, 'task')} ${trait(row, 'model') || ''} ${trait(row, 'policy')}`.toLowerCase();

// Looks for words in the list at once, then chunk by chunk in all texts; a new search ends the former.
async function search() {
  const looking = ++list.looking;
  const chosen = Object.fromEntries(FILTERS.map(name => [name, at('filter-' + name).value]));
  const wanted = at('search').value.trim().toLowerCase();
  const allowed = [];
  for (let row = 0; row < run.size; row++) if (passes(row, chosen)) allowed.push(row);
  if (!wanted) { draw(allowed, ''); return; }
  const found = new Set(allowed.filter(row => headOf(row).includes(wanted)));
  draw([...found], ' so far');
  const byChunk = new Map();
  for (const row of allowed) {
    const where = run.columns.chunk[row];
    if (where != null) byChunk.set(where, [...(byChunk.get(where) || []), row]);
  }
  let looked = 0;
  for (const [where, rows] of byChunk) {
    const {texts, records} = await (opened.get(where) || unpack('chunk-' + where));
    if (looking !== list.looking) return;
    const hits = new Set();
    texts.forEach((text, number) => { if (shown(plain(text)).toLowerCase().includes(wanted)) hits.add(number); });
    if (hits.size) for (const row of rows) if (mentions(records[run.columns.at[row]], hits)) found.add(row);
    looked += rows.length;
    at('status').textContent = `${trajectories(found.size)} so far; looked into ${looked.toLocaleString('en-US')} of ${allowed.length.toLocaleString('en-US')}`;
    if (list.drawn < PAGE) extend([...found]);
    await new Promise(done => setTimeout(done));
    if (looking !== list.looking) return;
  }
  draw([...found].sort((one, other) => one - other), '');
}
// Whether a record points at one of the texts.
function mentions(record, hits) {
  const seen = one => hits.has(one.text) || (one.planted && hits.has(one.planted[0])) ||
    (one.wording && (hits.has(one.wording.scripted) || one.wording.down.some(([, text]) => hits.has(text))));
  return [record.prompt, record.tools, record.guidance, record.fault].some(text => hits.has(text)) || (record.opening || []).some(seen) ||
    (record.check ? record.check.parts.some(part => part[2].some(line => hits.has(line))) : false) ||
    (record.turns || []).some(turn => hits.has(turn.thought) || hits.has(turn.said) ||
      (turn.calls || []).some(call => hits.has(call[0]) || hits.has(call[1])) || (turn.seen || []).some(seen));
}
const trajectories = count => count === 1 ? '1 trajectory' : count.toLocaleString('en-US') + ' trajectories';
function draw(rows, soFar) {
  at('list').tBodies[0].replaceChildren();
  list.drawn = 0;
  extend(rows);
  at('status').textContent = rows.length === run.size ? trajectories(rows.length) : `${trajectories(rows.length)} of ${run.size.toLocaleString('en-US')}${soFar}`;
}
function extend(rows) {
  list.rows = rows;
  const body = at('list').tBodies[0];
  for (const row of rows.slice(list.drawn, Math.max(PAGE, list.drawn))) body.append(line(row));
  list.drawn = body.childElementCount;
  at('more').hidden = list.drawn >= rows.length;
}
function more() {
  const body = at('list').tBodies[0];
  for (const row of list.rows.slice(list.drawn, list.drawn + PAGE)) body.append(line(row));
  list.drawn = body.childElementCount;
  at('more').hidden = list.drawn >= list.rows.length;
}
function line(row) {
  const outcome = trait(row, 'outcome'), fault = trait(row, 'fault'), model = trait(row, 'model');
  const dropped = run.columns.dropped[row].map(filter => run.names.filter[filter]);
  return el('tr', null,
    el('th', {scope: 'row'}, el('a.open', {href: '#t=' + run.columns.id[row], 'data-row': row}, short(run.columns.id[row]))),
    el('td', null, badge(outcome, KINDS[outcome]), fault && el('span.quiet', null, ' ' + fault),
      dropped.length > 0 && el('span.quiet.dropped', {title: 'dropped by ' + dropped.join(', ')}, ` dropped by ${dropped.join(', ')}`)),
    el('td', null, trait(row, 'method'), run.columns.injected[row].map(one => [' ', badge(run.names.injected[one], 'warn')])),
    el('td.far', null, trait(row, 'policy'), model && el('span.quiet', null, ` ${model}`)),
    el('td.goal', null, goal(row)), el('td.number.far', null, run.columns.turns[row]));
}
