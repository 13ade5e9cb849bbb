import { isAffected } from '@tidegate/versions';
import { expect, test } from 'vitest';
import { almaLikeRecords } from '../../../../../../bench/advisory-set.ts';
import { ENGINES } from '../../../testing/engines.ts';
import { createTestPlatform } from '../../../testing/test-platform.ts';
import { readChecks } from '../../store.ts';
import { type Subject, subjectKey } from '../../subjects.ts';
import { type MirrorRecord, readMirrorRecord } from '../records/record-rules.ts';
import { insertRecords, saveSnapshot } from '../store.ts';
import { createMirrorJudge } from './judge-from-mirror.ts';

const ECOSYSTEM = 'AlmaLinux:9';
const CLOSURE = 500;

test('a closure of 500 over 71,329 entries is judged the same as by the full records one by one', async () => {
  const [engine] = ENGINES;
  if (!engine) throw new Error('no engine');
  const database = await engine.open();
  const platform = createTestPlatform(database);
  const byName = new Map<string, object[]>();
  const loaded: MirrorRecord[] = [];
  let entries = 0;
  for (const raw of almaLikeRecords()) {
    const answer = readMirrorRecord(Buffer.from(JSON.stringify(raw)), { id: raw.id, releases: [ECOSYSTEM] });
    if (answer.kind !== 'record') throw new Error(answer.why);
    entries += answer.record.entries.length;
    for (const { name } of answer.record.entries) byName.set(name, [...(byName.get(name) ?? []), raw]);
    loaded.push(answer.record);
  }
  await database.transact((tx) => insertRecords(tx, { loadId: 1, records: loaded }));
  expect(entries).toBe(71_329);
  const nowMs = platform.now();
  await database.transact((tx) =>
    saveSnapshot(tx, {
      ...{ base: 'AlmaLinux', loadId: 1, releases: [ECOSYSTEM], source: 'test', sha256: '0'.repeat(64) },
      ...{ modifiedMark: '2026-01-01T00:00:00Z', asOfMs: nowMs, asOfKind: 'fetched', loadedAtMs: nowMs },
      ...{ records: 5_680, badRecords: 0, unreadable: [] },
    }),
  );
  const subjects: Subject[] = Array.from({ length: CLOSURE }, (_, i) => ({
    ecosystem: ECOSYSTEM,
    name: i % 2 === 0 ? `package-${i * 3}` : `unknown-${i}`,
    version: `0:${1 + (i % 30)}.${i % 7}.0-${1 + (i % 5)}.el9`,
  }));
  const judge = createMirrorJudge({ platform, maxAgeMs: 3_600_000, isAlone: true, isFetching: true });
  expect((await judge.judge(subjects)).left.size).toBe(0);
  const checks = await readChecks(database.read, subjects);
  let hits = 0;
  for (const subject of subjects) {
    const expected = (byName.get(subject.name) ?? [])
      .filter((raw) => isAffected(raw, subject) === 'affected')
      .map((raw) => ('id' in raw ? String(raw.id) : ''));
    const check = checks.get(subjectKey(subject));
    expect(check?.ids).toEqual([...new Set(expected)].toSorted());
    expect(check?.verdict).toBe(expected.length > 0 ? 'vulnerable' : 'clear');
    hits += expected.length;
  }
  expect(hits).toBeGreaterThan(2_000);
});
