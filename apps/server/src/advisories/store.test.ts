import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { type Check, readChecks, saveChecks } from './store.ts';
import { subjectKey } from './subjects.ts';

/** More rows than one statement takes, plus some. */
const CHECKS = 123;

function checksAt(checkedAtMs: number, snapshot: string): Check[] {
  return Array.from({ length: CHECKS }, (_, i) => ({
    subject: { ecosystem: 'Debian:12', name: `package-${i}`, version: `1-${i}` },
    verdict: 'vulnerable',
    reason: i % 3 === 0 ? 'unreachable' : null,
    ids: [`DSA-${i}`, `DSA-${i}-${snapshot}`],
    checkedAtMs: checkedAtMs + i,
    source: 'mirror',
    snapshot,
  }));
}

describe.each(ENGINES)('checks, on $name', (engine) => {
  test('are stored and replaced, each in its own place', async () => {
    const database = await engine.open();
    for (const checks of [checksAt(1_000, 'one'), checksAt(2_000, 'two').toReversed()]) {
      await database.transact((tx) => saveChecks(tx, checks, { keeps: 'nothing', nowMs: 0 }));
      const stored = await readChecks(
        database.read,
        checks.map(({ subject }) => subject),
      );
      expect(stored).toEqual(new Map(checks.map((check) => [subjectKey(check.subject), check])));
    }
  });

  test('are read in the wanted versions alone, however many others a package has', async () => {
    const database = await engine.open();
    const [check] = checksAt(1_000, 'one');
    if (!check) throw new Error('no check');
    const versions = ['1', '2', '3'].map((version) => ({ ...check, subject: { ...check.subject, version } }));
    await database.transact((tx) => saveChecks(tx, versions, { keeps: 'nothing', nowMs: 0 }));
    const rows: number[] = [];
    const { read } = database;
    const run: typeof read.run = async (...args) => {
      const found = await read.run(...args);
      rows.push(found.length);
      return found;
    };
    const counted = Object.assign(read.withoutPlugins(), { seals: read.seals, run });
    const wanted = { ...check.subject, version: '2' };
    expect([...(await readChecks(counted, [wanted, wanted])).values()]).toEqual([versions[1]]);
    expect(rows).toEqual([1]);
  });

  test('that are older than stored ones replace them only where allowed', async () => {
    const database = await engine.open();
    const [newer, older] = [checksAt(2_000, 'two'), checksAt(1_000, 'one')];
    const subjects = newer.map(({ subject }) => subject);
    const snapshots = async () =>
      new Set([...(await readChecks(database.read, subjects)).values()].map(({ snapshot }) => snapshot));
    await database.transact((tx) => saveChecks(tx, newer, { keeps: 'nothing', nowMs: 0 }));
    await database.transact((tx) => saveChecks(tx, older, { keeps: 'newer', nowMs: 0 }));
    expect(await snapshots()).toEqual(new Set(['two']));
    await database.transact((tx) => saveChecks(tx, older, { keeps: 'nothing', nowMs: 0 }));
    expect(await snapshots()).toEqual(new Set(['one']));
  });

  test.each([
    ['a newer finding stays', 'vulnerable', 2_000, 3_000, 'two'],
    ['one dated by a clock that was set back does not', 'vulnerable', 2_000, 1_500, 'one'],
    ['an older one does not', 'vulnerable', 500, 3_000, 'one'],
    ['a clear check does not', 'clear', 2_000, 3_000, 'one'],
  ] as const)('data older than a vulnerability: %s', async (_, verdict, atMs, nowMs, left) => {
    const database = await engine.open();
    const there = checksAt(atMs, 'two').map((check) => ({ ...check, verdict, checkedAtMs: atMs }));
    const judged = there.map((check) => ({
      ...check,
      verdict: 'clear' as const,
      checkedAtMs: 1_000,
      snapshot: 'one',
    }));
    await database.transact((tx) => saveChecks(tx, there, { keeps: 'nothing', nowMs }));
    await database.transact((tx) => saveChecks(tx, judged, { keeps: 'findings', nowMs }));
    const stored = await readChecks(
      database.read,
      there.map(({ subject }) => subject),
    );
    expect(new Set([...stored.values()].map(({ snapshot }) => snapshot))).toEqual(new Set([left]));
  });
});
