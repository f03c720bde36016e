// Syntax trees (ESTree) of the texts on stdin, { path: text }, as JSON: { path: tree or null }.
// The parser is acorn: the package of that name where NODE_PATH leads to one, else the copy that
// node itself carries for its prompt (node --expose-internals). Nothing of a text is executed.

let acorn;
try {
  acorn = require('acorn');
} catch {
  acorn = require('internal/deps/acorn/acorn/dist/acorn');
}

const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const told = {};
for (const [path, text] of Object.entries(texts)) told[path] = parsed(text);
process.stdout.write(JSON.stringify(told, plain));

function parsed(text) {
  for (const sourceType of ['module', 'script']) {
    try {
      const tree = acorn.parse(text, {
        ecmaVersion: 'latest',
        sourceType,
        allowHashBang: true,
        allowReturnOutsideFunction: true,
      });
      return counted(tree, text);
    } catch {
      continue;
    }
  }
  return null;
}

// Offsets in characters, where JavaScript counts halves of some.
function counted(tree, text) {
  if (!/[\ud800-\udfff]/.test(text)) return tree;
  const at = [];
  let count = 0;
  for (const letter of text) {
    for (let half = 0; half < letter.length; half += 1) at.push(count);
    count += 1;
  }
  at.push(count);
  (function visit(node) {
    if (!node || typeof node !== 'object') return;
    if (typeof node.start === 'number') [node.start, node.end] = [at[node.start], at[node.end]];
    Object.values(node).forEach(visit);
  })(tree);
  return tree;
}

function plain(key, value) {
  return typeof value === 'bigint' || value instanceof RegExp ? String(value) : value;
}
