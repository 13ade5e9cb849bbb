import { expect, onTestFinished, test } from 'vitest';
import { createReportReader } from './report-reader.ts';

const REPORT = { scanned_at: '2026-11-21T08:59:00Z', complete: true, packages: [], updates: [] };

function jobOf(body: unknown) {
  return { ecosystem: 'apt', body: Buffer.from(JSON.stringify(body)), knownDigest: null } as const;
}

/** A program for the thread; each replacement runs it anew. */
function program(text: string): URL {
  return new URL(
    `data:text/javascript,${encodeURIComponent(`import { parentPort } from 'node:worker_threads';\n${text}`)}`,
  );
}

function setUp(options: { worker?: URL; timeoutMs?: number } = {}) {
  const causes: unknown[] = [];
  const reader = createReportReader({
    log: { error: (_, fields) => void causes.push(fields?.cause) },
    ...options,
  });
  onTestFinished(reader.stop);
  return { reader, causes };
}

test('reports are read by the same rules as small ones, one after the other', async () => {
  const { reader } = setUp();
  const packages = Array.from({ length: 2_500 }, (_, n) => ({ name: `p${n}`, version: '1' }));
  const [good, unsound, noJson] = await Promise.all([
    reader.read(jobOf({ ...REPORT, packages })),
    reader.read(jobOf({ ...REPORT, owner: 1 })),
    reader.read({ ...jobOf(null), body: Buffer.from('{"a":1,"a":2}') }),
  ]);
  expect(good).toMatchObject({ kind: 'read', reading: { ok: true, report: { ...REPORT, packages } } });
  expect(unsound).toMatchObject({ kind: 'read', reading: { ok: false, detail: 'The body is not valid.' } });
  expect(noJson).toMatchObject({ reading: { ok: false, errors: [{ message: 'has a duplicate key' }] } });
});

test.each([
  ['ends', "parentPort.on('message', () => process.exit(3))", { cause: 'it ended with 3' }],
  ['throws', "parentPort.on('message', () => { throw new Error('broken') })", { cause: 'broken' }],
  [
    'never answers',
    "parentPort.on('message', () => { for (;;); })",
    { timeoutMs: 300, cause: 'a report took longer than 300 ms' },
  ],
])(
  'a thread that %s fails only its report: the next one has a new thread',
  async (_, text, { cause, ...options }) => {
    const { reader, causes } = setUp({ worker: program(text), ...options });
    expect(await reader.read(jobOf(REPORT))).toEqual({ kind: 'unavailable' });
    expect(await reader.read(jobOf(REPORT))).toEqual({ kind: 'unavailable' });
    expect(causes).toEqual([cause, cause]);
  },
);
