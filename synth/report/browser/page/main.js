// What stands in the address is what is shown; keys; light and dark.
const view = at('view');
let before = '';

const STYLES = ['system', 'light', 'dark'];
function theme(name) {
  if (name === 'system') document.documentElement.removeAttribute('data-theme'); else document.documentElement.dataset.theme = name;
  at('theme').textContent = 'Colours: ' + name;
  try { localStorage.setItem('synth-theme', name); } catch { /* a page without storage forgets */ }
}
function addTheme() {
  let name = 'system';
  try { name = localStorage.getItem('synth-theme') || name; } catch { /* as above */ }
  document.querySelector('main > header').append(el('button', {type: 'button', id: 'theme', onclick: () =>
    theme(STYLES[(STYLES.indexOf(at('theme').textContent.slice(9)) + 1) % STYLES.length])}));
  theme(STYLES.includes(name) ? name : 'system');
}
async function route() {
  const [, what, ids] = /^#([td]|task)=(.*)$/.exec(decodeURIComponent(location.hash)) || [];
  if (what === 'task') {
    leave();
    const filter = at('filter-task');
    filter.value = ids;
    if (filter.value !== ids) { put(filter, [el('option', {value: ids}, short(ids))]); filter.value = ids; }
    at('trajectories').scrollIntoView();
    return search();
  }
  if (!what) { if (view.open) view.close(); return; }
  const rows = ids.split(',').map(find);
  const missing = rows.findIndex(row => row == null);
  if (missing >= 0 || rows.length !== (what === 'd' ? 2 : 1)) return show('Not on this page', [el('p', null, `${ids.split(',')[Math.max(missing, 0)]} names no trajectory of this page.`)]);
  const asked = location.hash;
  const found = await Promise.all(rows.map(trajectory));
  if (asked !== location.hash) return;
  if (found.some(t => t === null)) return show('No room', [el('p', null, 'The page has no room for the texts of this trajectory: synth show RUN ' + ids)]);
  if (what === 'd') {
    show('Side by side', [sideBySide(...found)], 'both');
    at('divergence').scrollIntoView({block: 'center'});
  } else {
    const [t] = found, outcome = trait(t.row, 'outcome');
    show(['Trajectory ', short(t.id), ' ', badge(outcome, KINDS[outcome])], [overview(t), verdicts(t), transcript(t)]);
  }
}
function find(id) {
  const exact = run.byId.get(id);
  if (exact != null || id.length < 4) return exact;
  const begun = run.columns.id.findIndex(one => one.startsWith(id));
  return begun < 0 ? undefined : begun;
}
function show(title, body, kind) {
  at('view-title').replaceChildren();
  put(at('view-title'), [title]);
  at('view-body').replaceChildren(...body.filter(Boolean));
  view.className = kind || '';
  if (!view.open) view.showModal();
  at('view-body').scrollTop = 0;
  at('view-title').focus({preventScroll: true});
}
function leave() {
  if (view.open) view.close();
}
function closed() {
  const row = find((/^#[td]=([0-9a-f]+)/.exec(location.hash) || [])[1] || '');
  history.replaceState(null, '', location.pathname + location.search + '#trajectories');
  const opener = document.querySelector(`a.open[data-row="${row}"]`);
  if (opener) opener.focus();
}
function step(candidates, current, by) {
  const now = candidates.indexOf(current);
  const next = candidates[now < 0 ? (by > 0 ? 0 : candidates.length - 1) : Math.min(candidates.length - 1, Math.max(0, now + by))];
  if (next) { next.focus({preventScroll: true}); next.scrollIntoView({block: 'nearest'}); }
  return next;
}
function neighbour(by) {
  const row = find((/^#t=([0-9a-f]+)/.exec(location.hash) || [])[1] || '');
  const next = list.rows[list.rows.indexOf(row) + by];
  if (row != null && next != null) location.hash = '#t=' + run.columns.id[next];
}
function keys(event) {
  const typing = event.target.matches('input, select, textarea');
  if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== 'Escape')) return;
  if (typing) { event.target.blur(); return; }
  const by = {j: 1, k: -1}[event.key];
  if (view.open) {
    if (by) { const next = step([...view.querySelectorAll('article.turn')], document.activeElement.closest('article.turn'), by); if (next) next.scrollIntoView({block: 'start'}); }
    else if (event.key === 'n' || event.key === 'p') neighbour(event.key === 'n' ? 1 : -1);
    else if (event.key === 'd') beside();
    else return;
  } else if (event.key === '/') at('search').focus();
  else if (by) {
    const rows = () => [...document.querySelectorAll('a.open')];
    if (by > 0 && document.activeElement === rows().at(-1) && !at('more').hidden) more();
    step(rows(), document.activeElement, by);
  } else return;
  event.preventDefault();
}
function beside() {
  const row = find((/^#t=([0-9a-f]+)/.exec(location.hash) || [])[1] || '');
  const parent = row == null ? null : run.columns.parent[row];
  if (typeof parent === 'number') location.hash = `#d=${run.columns.id[parent]},${run.columns.id[row]}`;
}
function notes() {
  const lines = [];
  if (run.notes.shortened) lines.push(`${counted(run.notes.shortened, 'long text')} shortened to keep the page small`);
  if (run.notes.unopened) lines.push(`${trajectories(run.notes.unopened)} listed without texts, for which the page has no room`);
  for (const line of run.notes.aside || []) lines.push(`left out of the page: ${line.replace(/\.$/, '')}`);
  lines.push(run.notes.looked ? `${counted(run.notes.findings, 'secret or personal value')} stand as [REDACTED]`
    : 'no filter has looked for secrets: texts stand as recorded');
  at('notes').textContent = lines.join('; ') + '.';
}
async function begin() {
  addTheme();
  if (!globalThis.DecompressionStream) { at('status').textContent = 'This browser cannot open compressed data (DecompressionStream): take a newer one.'; return; }
  await openList();
  fillFilters();
  notes();
  draw([...run.columns.id.keys()], '');
  let waiting;
  at('search').addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(search, 180); });
  for (const name of FILTERS) at('filter-' + name).addEventListener('change', search);
  at('clear').addEventListener('click', () => { at('tools').reset(); search(); });
  at('tools').addEventListener('submit', event => { event.preventDefault(); search(); });
  at('more').addEventListener('click', more);
  at('close').addEventListener('click', leave);
  view.addEventListener('close', closed);
  addEventListener('hashchange', route);
  addEventListener('keydown', keys);
  document.documentElement.dataset.ready = 'yes';
  await route();
}
begin().catch(error => { at('status').textContent = `The list cannot be opened: ${error.message}`; throw error; });
