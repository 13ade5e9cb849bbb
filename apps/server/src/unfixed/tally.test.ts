import { expect, test } from 'vitest';
import { subjectKey } from '../advisories/subjects.ts';
import type { Image } from './image-cache.ts';
import { createTally } from './tally.ts';
import { installedOf, type Judgement } from './unfixed-rules.ts';

const DEBIAN = { id: 'debian', versionId: '12' };
const ids = (count: number) => Array.from({ length: count }, (_, n) => `CVE-2024-${n + 1}`);

/** Packages of one source, each in the version that it is given. */
function imageOf(packages: readonly (readonly [name: string, version: string])[], source = 'openssl'): Image {
  const installed = packages.map(([name, version]) =>
    installedOf('apt', DEBIAN, { name, version, sourceName: source, sourceVersion: version, origin: null }),
  );
  return { ecosystem: 'apt', packages: installed, isWhole: true };
}

/** Every version of 3.0 has these vulnerabilities, every other one is judged to have none. */
function judged(vulnerabilities: readonly string[]) {
  let looks = 0;
  const has: Judgement = { ids: vulnerabilities, isWhole: true };
  const clear: Judgement = { ids: [], isWhole: true };
  const judgements = new Map<string, Judgement>();
  judgements.get = (key) => {
    looks += 1;
    return (key.split('\n')[2] ?? '').startsWith('3.0') ? has : clear;
  };
  return { judgements, looks: () => looks };
}

const BY_RECORD = {
  vulnerabilitiesOf: (advisory: string) => [advisory],
  rowsOf: (_: unknown, record: string) => [{ record, cves: [] }],
};
const many = (count: number) => Array.from({ length: count }, (_, n) => [`p${n}`, '3.0.1-1'] as const);

test('what one host makes up is counted within a bound, and the host is not known whole', () => {
  const { judgements } = judged(ids(1_000));
  const tally = createTally(judgements, BY_RECORD);
  tally.add({ group: 'a', images: [imageOf(many(2_000))], pending: new Map(), isWhole: true });
  tally.add({ group: 'b', images: [imageOf([['libssl3', '3.0.1-1']])], pending: new Map(), isWhole: true });
  const { rows, coverage, index } = tally.end();
  expect([...rows.values()].every(({ hosts }) => hosts === 2)).toBe(true);
  expect(Object.fromEntries(coverage)).toEqual({ a: { hosts: 1, unknown: 1 }, b: { hosts: 1, unknown: 0 } });
  const linked = index.affected.values().reduce((sum, packages) => sum + packages.size, 0);
  expect(linked * 1_000).toBeLessThanOrEqual(251_000);
});

test('a host within the bound is known whole', () => {
  const { judgements } = judged(ids(10));
  const tally = createTally(judgements, BY_RECORD, { findingsMax: 100 });
  tally.add({ group: 'a', images: [imageOf(many(10))], pending: new Map(), isWhole: true });
  tally.add({ group: 'b', images: [imageOf(many(11))], pending: new Map(), isWhole: true });
  const { coverage } = tally.end();
  expect(Object.fromEntries(coverage)).toEqual({ a: { hosts: 1, unknown: 0 }, b: { hosts: 1, unknown: 1 } });
});

test('a host whose image leaves packages out is not known whole', () => {
  const { judgements } = judged(ids(1));
  const tally = createTally(judgements, BY_RECORD);
  const image = { ...imageOf([['libssl3', '3.1.0-1']]), isWhole: false };
  tally.add({ group: 'a', images: [image], pending: new Map(), isWhole: true });
  expect(tally.end().coverage.get('a')).toEqual({ hosts: 1, unknown: 1 });
});

test.each([
  [100, { hosts: 0, pending: 1 }],
  [99, { hosts: 1, pending: 0 }],
])('of %i looks whether 100 fix something: %o', (looksMax, counted) => {
  const { judgements } = judged(ids(1));
  const tally = createTally(judgements, BY_RECORD, { looksMax });
  const image = imageOf(Array.from({ length: 50 }, (_, n) => ['libssl3', `3.0.${n}-1`] as const));
  const offers = ['3.1.0-1', '3.2.0-1'].map((version) => ({ version, isApprovable: true }));
  const pending = new Map([['apt\nlibssl3', offers]]);
  tally.add({ group: 'a', images: [image], pending, isWhole: true });
  expect([...tally.end().rows.values()]).toMatchObject([counted]);
});

test('whether made-up updates fix made-up packages is asked within a bound', () => {
  const { judgements, looks } = judged(ids(100));
  const tally = createTally(judgements, BY_RECORD);
  const image = imageOf(Array.from({ length: 200 }, (_, n) => ['libssl3', `3.0.${n}-1`] as const));
  const offers = Array.from({ length: 100 }, (_, n) => ({ version: `3.1.${n}-1`, isApprovable: true }));
  const pending = new Map([['apt\nlibssl3', offers]]);
  tally.add({ group: 'a', images: [image], pending, isWhole: true });
  tally.end();
  expect(looks()).toBeLessThan(600_000);
});

test('names and versions that one host makes up leave out none that more hosts have', () => {
  const { judgements } = judged(ids(1));
  const tally = createTally(judgements, BY_RECORD);
  const evil = Array.from({ length: 150 }, (_, n) => [`0-${n}`, `3.0.${n}-evil`] as const);
  tally.add({ group: '', images: [imageOf(evil)], pending: new Map(), isWhole: true });
  for (const version of ['3.0.1-1', '3.0.1-1', '3.0.2-1', '3.0.2-1']) {
    tally.add({ group: '', images: [imageOf([['libssl3', version]])], pending: new Map(), isWhole: true });
  }
  const [row] = tally.end().rows.values();
  const [sum] = row?.sums ?? [];
  expect([...(sum?.packages ?? [])][0]).toBe('libssl3');
  const subjects = ['3.0.1-1', '3.0.2-1'].map((version) =>
    subjectKey({ ecosystem: 'Debian:12', name: 'openssl', version }),
  );
  expect([...(sum?.subjects.keys() ?? [])].slice(0, 2).toSorted()).toEqual(subjects);
  expect([sum?.packages.size, sum?.subjects.size]).toEqual([100, 20]);
});

test('of names and versions that equally many hosts have, the same are kept in whatever order they come', () => {
  const { judgements } = judged(ids(1));
  const packages = Array.from({ length: 150 }, (_, n) => [`p${n}`, `3.0.${n}-1`] as const);
  const keptOf = (some: typeof packages) => {
    const tally = createTally(judgements, BY_RECORD);
    tally.add({ group: 'a', images: [imageOf(some)], pending: new Map(), isWhole: true });
    const [sum] = tally.end().index.sums.values();
    return [[...(sum?.packages ?? [])], [...(sum?.subjects.keys() ?? [])]];
  };
  const kept = keptOf(packages);
  expect(kept.map(({ length }) => length)).toEqual([100, 20]);
  expect(keptOf(packages.toReversed())).toEqual(kept);
});
