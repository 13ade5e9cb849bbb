import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chainOf, pinOf, sealed } from '../testing/event-chains.ts';
import { passParts } from './pass-parts.ts';
import type { EventRow } from './store.ts';
import { createChainVerifier, type Pin } from './verify-chain.ts';
import { type ReadRows, verifyPart } from './verify-part.ts';

const LENGTH = 24;
const RESTORED = { type: 'RESTORE_DETECTED', content: '{"epoch":2}' };
const genuine = chainOf(LENGTH, { 11: RESTORED });

type Tampering = (rows: readonly EventRow[], position: number) => EventRow[];

const renumbered = (rows: EventRow[]) => rows.map((row, i) => ({ ...row, position: i + 1 }));
const changed = (rows: readonly EventRow[], position: number, change: (row: EventRow) => EventRow) =>
  rows.map((row) => (row.position === position ? change(row) : row));

const TAMPERINGS: Readonly<Record<string, Tampering>> = {
  nothing: (rows) => [...rows],
  'a row removed': (rows, position) => rows.filter((row) => row.position !== position),
  'a row removed and the rest renumbered': (rows, position) =>
    renumbered(rows.filter((row) => row.position !== position)),
  'a row changed': (rows, position) => changed(rows, position, (row) => ({ ...row, content: '{}' })),
  'a row changed with its hash': (rows, position) =>
    changed(rows, position, (row) => sealed({ ...row, content: '{}' })),
  'a restore recorded': (rows, position) => changed(rows, position, (row) => sealed({ ...row, ...RESTORED })),
  'another link': (rows, position) =>
    changed(rows, position, (row) => sealed({ ...row, previous_hash: 'ab' })),
  'a row put in and the rest renumbered': (rows, position) =>
    renumbered(rows.flatMap((row) => (row.position === position ? [sealed({ ...row, id: 'x' }), row] : row))),
  'the end cut off': (rows, position) => rows.slice(0, position),
  'the beginning cut off': (rows, position) => rows.slice(position),
  'everything rewritten from a row on': (rows, position) =>
    chainOf(rows.length, { 11: RESTORED, [position]: { content: '{"other":true}' } }),
};

const pins = fc
  .array(
    fc.record({
      position: fc.integer({ min: 1, max: LENGTH }),
      epoch: fc.constantFrom(1, 1, 2, null),
      isRight: fc.integer({ max: 9 }).map((n) => n !== 0),
    }),
    { maxLength: 6 },
  )
  .map((all) =>
    all
      .flatMap(({ position, epoch, isRight }): Pin[] => {
        const row = genuine[position - 1];
        return row ? [{ ...pinOf(isRight ? row : { ...row, hash: 'ab' }), epoch }] : [];
      })
      .toSorted((a, b) => a.position - b.position),
  );

const readerOf =
  (rows: readonly EventRow[]): ReadRows =>
  async ({ after, until, limit }) =>
    rows.filter(({ position }) => position > after && position <= until).slice(0, limit);

/** As `verifyDatabase` walks: the parts first, then row by row from where they stopped. */
async function walk(rows: readonly EventRow[], pins: readonly Pin[], partRows: number | null) {
  const verifier = createChainVerifier({ start: { position: 0, hash: null }, pins });
  const verify = (order: Parameters<typeof verifyPart>[1]) => verifyPart(readerOf(rows), order);
  if (partRows !== null) {
    const pinned = pins.map(({ position }) => position);
    await passParts(verifier, { verifiers: [verify, verify, verify], pinned, until: rows.length, partRows });
  }
  const passed = verifier.last().position;
  let fault = null;
  for (const row of rows.filter(({ position }) => position > passed)) {
    fault ??= verifier.take(row);
    if (fault) break;
  }
  const head = genuine.at(-1) ?? null;
  fault ??= verifier.end(head && { position: head.position, hash: head.hash });
  const found = { fault, last: verifier.last(), pinned: verifier.pinned(), restored: verifier.restoredAt() };
  return { found, passed };
}

test('parts find in every tampered log what the walk from row to row finds', async () => {
  const cases = fc.record({
    how: fc.constantFrom(...Object.values(TAMPERINGS)),
    position: fc.integer({ min: 1, max: LENGTH }),
    pins,
    partRows: fc.integer({ min: 1, max: LENGTH + 1 }),
  });
  let faults = 0;
  await fc.assert(
    fc.asyncProperty(cases, async ({ how, position, pins, partRows }) => {
      const rows = how(genuine, position);
      const { found } = await walk(rows, pins, null);
      expect((await walk(rows, pins, partRows)).found).toEqual(found);
      if (found.fault !== null) faults++;
    }),
    { numRuns: 150 },
  );
  expect(faults).toBeGreaterThan(75);
});

test('a genuine log is passed to its end by the parts alone, with every pin', async () => {
  for (const partRows of [1, 5, LENGTH, 100]) {
    const { found, passed } = await walk(
      genuine,
      genuine.map((row) => pinOf(row, row.position < 11 ? 1 : 2)),
      partRows,
    );
    expect(passed).toBe(LENGTH);
    expect(found).toMatchObject({ fault: null, pinned: { position: LENGTH }, restored: 11 });
  }
});

test('a part with a wrong row is answered null, and what is before it is kept', async () => {
  const rows = changed(genuine, 17, (row) => ({ ...row, content: '{}' }));
  expect((await walk(rows, [], 5)).passed).toBe(15);
  expect(await verifyPart(readerOf(rows), { after: 15, until: 20, pinned: [] })).toBeNull();
  expect(await verifyPart(readerOf(rows), { after: LENGTH, until: LENGTH + 1, pinned: [] })).toBeNull();
});
