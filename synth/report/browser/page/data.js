// What the page holds, opened on demand: base64, gzip, JSON.
const OPEN_CHUNKS = 24;
const opened = new Map();

async function unpack(id) {
  const holder = document.getElementById('packed-' + id);
  const packed = atob(holder.textContent);
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}
function chunk(number) {
  const there = opened.get(number);
  if (there) { opened.delete(number); opened.set(number, there); return there; }
  const coming = unpack('chunk-' + number);
  opened.set(number, coming);
  if (opened.size > OPEN_CHUNKS) opened.delete(opened.keys().next().value);
  return coming;
}
const run = {size: 0, columns: {}, names: {}, goals: [], byId: new Map(), children: new Map()};

async function openList() {
  Object.assign(run, await unpack('list'));
  run.size = run.columns.id.length;
  run.columns.id.forEach((id, row) => run.byId.set(id, row));
  run.columns.parent.forEach((parent, row) => {
    if (typeof parent === 'number') run.children.set(parent, [...(run.children.get(parent) || []), row]);
  });
}
// A trait of a row by its name; a trait without names as it is.
function trait(row, column) {
  const value = run.columns[column][row];
  return value == null || !run.names[column] ? value : run.names[column][value];
}
const goal = row => run.goals[run.columns.task[row]] || '';
const short = id => String(id).slice(0, 8);

// A trajectory whole: its record, and its texts by number; null where the page has no room for them.
async function trajectory(row) {
  const at = run.columns.chunk[row];
  if (at == null) return null;
  const {texts, records} = await chunk(at);
  return {row, id: run.columns.id[row], record: records[run.columns.at[row]], text: number => number == null ? null : texts[number]};
}
const plain = packed => Array.isArray(packed) ? packed[0] + ' … ' + packed[2] : packed || '';
