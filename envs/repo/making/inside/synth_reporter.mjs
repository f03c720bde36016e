// A reporter of node:test: what came of each test, as JSON to the descriptor that
// SYNTH_RESULT_FD names, in the form of synth_results.py. It runs in the process that starts
// those of the test files; they have no such descriptor.

import { closeSync, writeSync } from 'node:fs';
import { relative } from 'node:path';

const LONGEST = 400;
const descriptor = Number(process.env.SYNTH_RESULT_FD);

export default async function* report(events) {
  const told = { tests: {}, broken: {} };
  const above = new Map();
  for await (const { type, data } of events) {
    if (type === 'test:start') {
      const names = above.get(data.file) ?? [];
      names.length = data.nesting;
      names[data.nesting] = data.name;
      above.set(data.file, names);
    }
    if (type === 'test:pass' || type === 'test:fail') noted(told, above, type, data);
  }
  let said = Buffer.from(JSON.stringify(told));
  while (said.length) said = said.subarray(writeSync(descriptor, said));
  closeSync(descriptor);
  yield '';
}

function noted(told, above, type, data) {
  if (!data.file || data.details?.type === 'suite') return;
  const file = relative(process.cwd(), data.file);
  const names = (above.get(data.file) ?? []).slice(0, data.nesting);
  if (data.nesting === 0 && (data.name === data.file || data.name === file)) {
    if (type === 'test:fail') told.broken[file] = shown(cause(data)).slice(-LONGEST);
    return;
  }
  const id = [file, ...names, data.name].join('::');
  if (type === 'test:pass') {
    const outcome = data.skip !== undefined || data.todo !== undefined ? 'skipped' : 'passed';
    told.tests[id] ??= { outcome, file };
  } else {
    told.tests[id] = { outcome: 'failed', file, ...failure(data, file) };
  }
}

function cause(data) {
  return data.details?.error?.cause ?? data.details?.error;
}

function failure(data, file) {
  const error = cause(data);
  const compared = error?.code === 'ERR_ASSERTION' && 'actual' in error;
  return {
    line: lineOf(error, data, file),
    error: String(error?.name ?? 'Error'),
    message: shown(error).split('\n')[0].slice(0, LONGEST),
    compared: compared
      ? [literal(error.actual), '==', literal(error.expected)].map((one) => one.slice(0, LONGEST))
      : null,
  };
}

function lineOf(error, data, file) {
  const found = [...String(error?.stack ?? '').matchAll(/([^\s(]+):(\d+):\d+\)?$/gm)];
  const own = found.find(([, path]) => path.endsWith(file));
  return own ? Number(own[2]) : Number(data.line ?? 0);
}

function shown(error) {
  return String(error?.message ?? error).replaceAll(/0x[0-9a-f]{6,}/g, '0x');
}

function literal(value) {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

