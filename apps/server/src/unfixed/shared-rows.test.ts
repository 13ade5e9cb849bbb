import { describe, expect, test } from 'vitest';
import type { RecordIds } from '../advisories/same-vulnerability.ts';
import { type KnownRow, rowsByRecord } from './shared-rows.ts';
import { placeOf } from './unfixed-rules.ts';

const SUBJECT = { ecosystem: 'Debian:12', name: 'openssl', version: '1-1' };
const PLACE = placeOf('Debian:12', 'openssl');

const IDS: Record<string, RecordIds> = {
  'DEBIAN-CVE-1': { cves: ['CVE-1'], names: ['DEBIAN-CVE-1', 'CVE-1'] },
  'DEBIAN-CVE-2': { cves: ['CVE-2'], names: ['DEBIAN-CVE-2', 'CVE-2'] },
  'CVE-1': { cves: ['CVE-1'], names: ['CVE-1'] },
  'ALSA-1': { cves: ['CVE-1'], names: ['ALSA-1'] },
  'DSA-12': { cves: ['CVE-1', 'CVE-2', 'CVE-1'], names: ['DSA-12'] },
  'DSA-123': { cves: ['CVE-1', 'CVE-2', 'CVE-3'], names: ['DSA-123'] },
  'GHSA-1': { cves: [], names: ['GHSA-1', 'PYSEC-1'] },
  'PYSEC-1': { cves: [], names: ['PYSEC-1', 'GHSA-1'] },
  'GHSA-2': { cves: ['CVE-1'], names: ['GHSA-2', 'PYSEC-2', 'CVE-1'] },
  'PYSEC-2': { cves: [], names: ['PYSEC-2', 'GHSA-2'] },
};

function rows(records: readonly string[], known: readonly Partial<KnownRow>[] = []) {
  const of = rowsByRecord({
    judgements: new Map(records.map((id, i) => [`${PLACE}\n${i}`, { ids: [id], isWhole: true }])),
    idsOf: (record) => IDS[record] ?? { cves: [], names: [record] },
    known: known.map((row) => ({ place: PLACE, record: '', firstSeenMs: 5, isNoted: false, ...row })),
  });
  return Object.fromEntries(
    records.map((record) => [record, of(SUBJECT, record).map((row) => [row.record, ...row.cves].join(' '))]),
  );
}

describe('each vulnerability of a package has one row', () => {
  test.each<[string, Record<string, string[]>]>([
    ['of a record alone', { 'DEBIAN-CVE-1': ['DEBIAN-CVE-1 CVE-1'] }],
    ['of two records of a CVE', { 'ALSA-1': ['ALSA-1 CVE-1'], 'DEBIAN-CVE-1': ['ALSA-1 CVE-1'] }],
    ['with the id of the CVE first', { 'ALSA-1': ['CVE-1 CVE-1'], 'CVE-1': ['CVE-1 CVE-1'] }],
    ['of two records without a CVE', { 'PYSEC-1': ['GHSA-1'], 'GHSA-1': ['GHSA-1'] }],
    ['where only one names the CVE', { 'PYSEC-2': ['GHSA-2 CVE-1'], 'GHSA-2': ['GHSA-2 CVE-1'] }],
    ['of an advisory about several alone', { 'DSA-12': ['DSA-12 CVE-1 CVE-2'] }],
    [
      'without one of the advisory where each CVE has a record',
      {
        ...{ 'DEBIAN-CVE-1': ['DEBIAN-CVE-1 CVE-1'], 'DEBIAN-CVE-2': ['DEBIAN-CVE-2 CVE-2'] },
        'DSA-12': ['DEBIAN-CVE-1 CVE-1', 'DEBIAN-CVE-2 CVE-2'],
      },
    ],
    [
      'with one of the advisory for CVEs without a record',
      {
        'DEBIAN-CVE-1': ['DEBIAN-CVE-1 CVE-1'],
        'DSA-123': ['DEBIAN-CVE-1 CVE-1', 'DSA-123 CVE-2 CVE-3'],
      },
    ],
  ])('%s', (_, expected) => {
    expect(rows(Object.keys(expected))).toEqual(expected);
    expect(rows(Object.keys(expected).reverse())).toEqual(expected);
  });

  test('that stays the same when another record appears', () => {
    const known = [{ record: 'DEBIAN-CVE-1', firstSeenMs: 4 }, { record: 'ALSA-1' }];
    expect(rows(['CVE-1', 'ALSA-1'], known)).toEqual({
      ...{ 'CVE-1': ['DEBIAN-CVE-1 CVE-1'], 'ALSA-1': ['DEBIAN-CVE-1 CVE-1'] },
    });
  });

  test('and what operators noted is never out of sight', () => {
    const known = [
      { record: 'DEBIAN-CVE-1', firstSeenMs: 4 },
      { record: 'ALSA-1', isNoted: true },
    ];
    expect(rows(['DEBIAN-CVE-1', 'ALSA-1'], known)).toEqual({
      ...{ 'DEBIAN-CVE-1': ['ALSA-1 CVE-1'], 'ALSA-1': ['ALSA-1 CVE-1'] },
    });
    const both = known.map((row) => ({ ...row, isNoted: true }));
    expect(rows(['DEBIAN-CVE-1', 'ALSA-1'], both)).toEqual({
      ...{ 'DEBIAN-CVE-1': ['DEBIAN-CVE-1 CVE-1'], 'ALSA-1': ['ALSA-1 CVE-1'] },
    });
    expect(rows(['DEBIAN-CVE-1', 'DEBIAN-CVE-2', 'DSA-12'], [{ record: 'DSA-12', isNoted: true }])).toEqual({
      ...{ 'DEBIAN-CVE-1': ['DEBIAN-CVE-1 CVE-1'], 'DEBIAN-CVE-2': ['DEBIAN-CVE-2 CVE-2'] },
      'DSA-12': ['DEBIAN-CVE-1 CVE-1', 'DEBIAN-CVE-2 CVE-2', 'DSA-12 CVE-1 CVE-2'],
    });
  });

  test('and one that no record is judged about any more takes no advisory in', () => {
    expect(rows(['DSA-12'], [{ record: 'DEBIAN-CVE-1' }])).toEqual({ 'DSA-12': ['DSA-12 CVE-1 CVE-2'] });
  });
});
