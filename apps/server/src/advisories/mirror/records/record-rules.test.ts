import { isAffected } from '@tidegate/versions';
import { describe, expect, test } from 'vitest';
import { readMirrorRecord, unreadableReason } from './record-rules.ts';

const RELEASES = ['Debian:12', 'npm', 'PyPI', 'Ubuntu:22.04'];
const RECORD = {
  id: 'DSA-1',
  modified: '2026-01-02T00:00:00Z',
  summary: 'bad',
  details: 'x'.repeat(10_000),
  references: [{ type: 'WEB', url: 'https://example.org' }],
  aliases: ['CVE-1'],
  upstream: ['CVE-2'],
  related: ['CVE-3'],
  severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N' }],
  database_specific: { cwe_ids: ['CWE-506'], severity: 'HIGH' },
  affected: [
    {
      package: { ecosystem: 'Debian:12', name: 'openssl' },
      ranges: [
        { type: 'GIT', repo: 'x', events: [{ introduced: '0' }] },
        { type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '3.0.12-1' }] },
      ],
    },
    { package: { ecosystem: 'Debian:11', name: 'openssl' }, versions: ['1'] },
    { package: { ecosystem: 'Debian', name: 'bare' }, versions: ['1'] },
  ],
};

function read(record: unknown, id = 'DSA-1') {
  const text = typeof record === 'string' ? record : JSON.stringify(record);
  return readMirrorRecord(Buffer.from(text), { id, releases: RELEASES });
}

function entries(record: unknown) {
  const answer = read(record);
  return answer.kind === 'record' ? answer.record.entries : null;
}

/** How our matching decides a stored entry. */
function verdict(
  entry: { eco: string; name: string; rangesJson: string; versionsJson: string },
  version: string,
) {
  const { eco: ecosystem, name } = entry;
  const affected = [
    {
      package: { ecosystem, name },
      ranges: JSON.parse(entry.rangesJson),
      versions: JSON.parse(entry.versionsJson),
    },
  ];
  return isAffected({ affected }, { ecosystem, name, version });
}

describe('a record of an export', () => {
  test('is reduced to the releases of the fleet and its bare ecosystem, without details or references', () => {
    const answer = read(RECORD);
    if (answer.kind !== 'record') throw new Error(answer.why);
    const { record } = answer;
    expect(record.entries.map(({ eco, name }) => [eco, name])).toEqual([
      ['Debian:12', 'openssl'],
      ['Debian', 'bare'],
    ]);
    expect(record).toMatchObject({ id: 'DSA-1', modifiedMs: Date.UTC(2026, 0, 2), fault: null });
    expect(record.record).not.toMatch(/xxx|example\.org/);
    expect(JSON.parse(record.record)).toMatchObject({
      aliases: ['CVE-1'],
      upstream: ['CVE-2'],
      related: ['CVE-3'],
      summary: 'bad',
      database_specific: { cwe_ids: ['CWE-506'], severity: 'HIGH' },
    });
    expect(record.entries[0]?.rangesJson).not.toContain('GIT');
  });

  test('still decides like the full record', () => {
    const [openssl] = entries(RECORD) ?? [];
    if (!openssl) throw new Error('no entry');
    expect([verdict(openssl, '3.0.11-1'), verdict(openssl, '3.0.12-1')]).toEqual(['affected', 'unaffected']);
  });

  test('that is withdrawn affects nothing; a zero time is no withdrawal', () => {
    expect(entries({ ...RECORD, withdrawn: '2026-01-03T00:00:00Z' })).toEqual([]);
    expect(entries({ ...RECORD, withdrawn: '0001-01-01T00:00:00Z' })).toHaveLength(2);
  });

  test('of a release more specific than the fleet’s is kept, so that it is undecidable and not clear', () => {
    const affected = [{ package: { ecosystem: 'Ubuntu:22.04:LTS', name: 'a' }, versions: ['1'] }];
    expect(entries({ ...RECORD, affected })).toHaveLength(1);
  });

  test('is found under its normalised name (PEP 503), for npm under the exact name', () => {
    const affected = [
      { package: { ecosystem: 'PyPI', name: 'A_b.C' }, versions: ['1'] },
      { package: { ecosystem: 'npm', name: '@S/A_b' }, versions: ['1'] },
    ];
    expect(entries({ ...RECORD, affected })?.map(({ name }) => name)).toEqual(['a-b-c', '@S/A_b']);
  });

  test.each([
    ['ranges of another form', { ranges: 'all' }],
    ['an event of another form', { ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: 0 }] }] }],
    ['no events', { ranges: [{ type: 'ECOSYSTEM' }] }],
    ['versions of another form', { versions: { '1': true } }],
    ['versions that are null', { versions: null }],
    ['ranges that are null', { ranges: null }],
    ['an unknown kind of range', { ranges: [{ type: 'NEW', events: [{ introduced: '0' }] }] }],
  ])('with %s is undecidable', (_, fields) => {
    const affected = [{ package: { ecosystem: 'Debian:12', name: 'a' }, ...fields }];
    const [entry] = entries({ ...RECORD, affected }) ?? [];
    if (!entry) throw new Error('no entry');
    expect(verdict(entry, '2')).toBe('undecidable');
  });

  const text = JSON.stringify(RECORD);
  const named = '"package":{"ecosystem":"Debian:12","name":"openssl"}';
  test.each([
    ['a duplicate key', text.replace('"summary"', '"id":"x","summary"'), 'unreadable'],
    ['a duplicate key elsewhere', text.replace('"summary"', '"summary":"x","summary"'), 'complete'],
    [
      'packages twice',
      text.replace(named, `${named},"package":{"ecosystem":"npm","name":"x"}`),
      'unreadable',
    ],
    ['a name twice', text.replace('"name":"bare"', '"name":"x","name":"bare"'), 'unreadable'],
    ['two lists of affected packages', text.replace('"summary"', '"affected":[],"summary"'), 'unreadable'],
    [
      'a list in an escaped member',
      text.replace(
        '"affected":',
        '"affected":[{"\\u0070ackage":{"ecosystem":"npm","name":"x"}}],"\\u0061ffected":',
      ),
      'unreadable',
    ],
    [
      'a package in an escaped member',
      text.replace('"package":{"ecosystem":"Debian"', '"x":"\\u0000","\\u0070ackage":{"ecosystem":"Debian"'),
      'unreadable',
    ],
    [
      'a package with braces',
      text.replace('"name":"bare"', '"name":"bare","x":{}').replace('"id"', '"__proto__":1,"id"'),
      'unreadable',
    ],
    ['an end in the middle', text.slice(0, -40), 'unreadable'],
    ['an id that differs from its file name', JSON.stringify({ ...RECORD, id: 'DSA-2' }), 'unreadable'],
    ['no time', JSON.stringify({ ...RECORD, modified: 'yesterday' }), 'complete'],
    [
      'too deep a nesting',
      JSON.stringify({ ...RECORD, deep: JSON.parse('['.repeat(40) + ']'.repeat(40)) }),
      'complete',
    ],
    ['U+0000 in a text', JSON.stringify({ ...RECORD, summary: '\u0000' }), 'complete'],
    ['half a character', text.replace('"bad"', '"\\ud800"'), 'complete'],
    [
      'a member that cannot be read',
      JSON.stringify({ ...RECORD, affected: [...RECORD.affected, 7] }),
      'unreadable',
    ],
  ])('with %s makes the packages that it names undecidable', (_, text, others) => {
    const answer = read(text);
    if (answer.kind !== 'record') throw new Error(answer.why);
    expect(answer.record.fault).not.toBeNull();
    const [entry] = answer.record.entries;
    if (!entry) throw new Error('no entry');
    expect([entry.name, verdict(entry, '9')]).toEqual(['openssl', 'undecidable']);
    expect(unreadableReason(answer) === null ? 'complete' : 'unreadable').toBe(others);
  });

  test.each([
    ['no JSON at all', '<html>'],
    ['no object', '[]'],
    ['nothing', ''],
  ])('that is %s is unreadable', (_, text) => {
    expect(read(text)).toMatchObject({ kind: 'unreadable' });
    expect(unreadableReason(read(text))).not.toBeNull();
  });
});
