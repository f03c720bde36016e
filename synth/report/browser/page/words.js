// Elements and texts. Texts of the run become text nodes only: nothing here ever parses one as markup.
const FOLDED = 1200, STEP = 50000;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
const KEPT = new Set(['\n', '\t', '\u200c', '\u200d']);

// Characters that cannot be seen, or turn the direction of writing, by their escapes.
const shown = text => String(text).replace(HIDDEN, sign =>
  KEPT.has(sign) ? sign : /\p{Cs}/u.test(sign) ? '\ufffd' : '\\u{' + sign.codePointAt(0).toString(16) + '}');

function el(tag, properties, ...children) {
  const [name, ...classes] = tag.split('.');
  const made = document.createElement(name || 'div');
  if (classes.length) made.className = classes.join(' ');
  for (const [key, value] of Object.entries(properties || {})) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  put(made, children);
  return made;
}
function put(into, children) {
  for (const child of children.flat(Infinity)) {
    if (child == null || child === false) continue;
    into.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
  return into;
}
const number = value => value == null ? 'undefined' : value.toLocaleString('en-US', {maximumSignificantDigits: 4});
const counted = (count, noun) => count.toLocaleString('en-US') + ' ' + noun + (count === 1 ? '' : 's');
const badge = (text, kind) => el('span.mark.' + (kind || 'none'), null, text);
const KINDS = {success: 'pass', failure: 'fail', truncated: 'warn', invalid: 'warn', unknown: 'none'};

// A text as it stands. Long ones are folded; `pieces` [text, changed?] where a part is to be marked.
function words(packed, tag, changed) {
  if (Array.isArray(packed)) {
    const [head, left, tail] = packed;
    return el(tag || 'div.text', {dir: 'auto'}, piece(head, changed), el('span.cut', null,
      ` … ${counted(left, 'character')} left out here; synth show RUN ID has them … `), piece(tail, changed));
  }
  return el(tag || 'div.text', {dir: 'auto'}, piece(packed, changed));
}
function piece(text, changed) {
  const at = text.length > FOLDED * 1.5 ? FOLDED : text.length;
  const marked = changed ? between(text, changed) : null;
  const span = el('span', null, marked ? parts(text, 0, Math.max(at, Math.min(marked[1], marked[0] + FOLDED)), marked) : text.slice(0, at));
  let end = marked ? Math.max(at, Math.min(marked[1], marked[0] + FOLDED)) : at;
  if (end >= text.length) return span;
  const rest = el('button.fold', {type: 'button'});
  const label = () => { rest.textContent = `show ${text.length - end > STEP ? 'more of' : 'all'} ${counted(text.length, 'character')}`; };
  rest.addEventListener('click', () => {
    const next = Math.min(text.length, end + STEP);
    put(span, [text.slice(end, next)]);
    end = next;
    if (end >= text.length) rest.remove(); else label();
  });
  label();
  return [span, ' ', rest];
}
// From where to where a text differs from another: what both begin and end with is the same.
function between(text, other) {
  if (text === other) return null;
  let from = 0, end = text.length, to = other.length;
  while (from < end && from < to && text[from] === other[from]) from++;
  while (end > from && to > from && text[end - 1] === other[to - 1]) { end--; to--; }
  return end > from ? [from, end] : null;
}
function parts(text, from, to, [start, end]) {
  return [text.slice(from, start), el('mark', null, text.slice(start, Math.min(end, to))), end < to ? text.slice(end, to) : ''];
}
const LINE = 90;
// JSON with its lines (what is short on one), anything else as it stands.
function pretty(packed) {
  if (typeof packed !== 'string' || !/^\s*[[{]/.test(packed) || packed.length > 200000) return packed;
  try { return !faithful(packed) ? packed : packed.length <= LINE && !packed.includes('\n') ? packed : JSON.stringify(JSON.parse(packed), null, 2); } catch { return packed; }
}
// Numbers that a browser would round, and keys that stand twice, are left as they were written.
function faithful(text) {
  const bare = text => text.replace(/\s+/g, '');
  return bare(JSON.stringify(JSON.parse(text))) === bare(text) || !/\d{16}|\\u/.test(text);
}
