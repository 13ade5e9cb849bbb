import type { PlanAction } from '@tidegate/protocol/plan';
import { describe, expect, test } from 'vitest';
import { closureFacts, createPackageJudge } from './closure-facts.ts';
import { closurePackages } from './closure-packages.ts';
import { partCounts } from './closure-parts.ts';
import type { Exploited } from './exploited/store.ts';
import type { InstalledPackage } from './installed-package.ts';
import type { Check } from './store.ts';
import { subjectKey } from './subjects.ts';

const DEBIAN = { id: 'debian', versionId: '12' };
const NOW_MS = 1_000_000;
const upgrade: PlanAction = {
  action: 'upgrade',
  name: 'libssl3',
  from_version: '3.0.11-1',
  to_version: '3.0.12-1',
  source_name: 'openssl',
  origin: 'Debian:12/stable',
  source_version: '3.0.12-1',
};
const installed: InstalledPackage = {
  name: 'libssl3',
  arch: '',
  version: '3.0.11-1',
  sourceName: 'openssl',
  sourceVersion: '3.0.11-1',
  origin: null,
};

function check(version: string, fields: Partial<Check>, name = 'openssl', ecosystem = 'Debian:12'): Check {
  const ids = fields.ids ?? [];
  return {
    subject: { ecosystem, name, version },
    verdict: ids.length > 0 ? 'vulnerable' : 'clear',
    reason: null,
    ids,
    checkedAtMs: NOW_MS,
    source: 'api',
    snapshot: null,
    ...fields,
  };
}

function facts({
  actions = [upgrade],
  present = [installed],
  checks,
  records = {},
  ecosystem = 'apt',
  isKevKnown = false,
  exploited = {},
}: {
  actions?: PlanAction[];
  present?: InstalledPackage[];
  checks: Check[];
  records?: Record<string, object>;
  ecosystem?: 'apt' | 'npm';
  isKevKnown?: boolean;
  exploited?: Record<string, Exploited>;
}) {
  const tops = [{ name: actions[0]?.name ?? '', arch: '' }];
  const packages = closurePackages({ ecosystem, system: DEBIAN, actions, tops, installed: present });
  const judge = createPackageJudge({
    ecosystem,
    checks: new Map(checks.map((one) => [subjectKey(one.subject), one])),
    records: new Map(
      Object.entries(records).map(([id, record]) => [id, JSON.stringify({ id, modified: 'now', ...record })]),
    ),
    exploited: new Map(Object.entries(exploited)),
    nowMs: NOW_MS,
    maxAgeMs: 1_000,
    isKevKnown,
  });
  return closureFacts(packages.map(judge), { nowMs: NOW_MS });
}

describe('the three lists of a closure', () => {
  test('what the update fixes, what stays, and what it introduces (reading 4)', () => {
    const { findings, fixed, verdict } = facts({
      checks: [check('3.0.11-1', { ids: ['A', 'B'] }), check('3.0.12-1', { ids: ['B', 'C'] })],
    });
    expect(verdict).toBe('vulnerable');
    expect(findings.map(({ id, change }) => [id, change])).toEqual([
      ['C', 'introduced'],
      ['B', 'still_present'],
    ]);
    expect(fixed).toMatchObject([{ id: 'A', package: 'libssl3', version: '3.0.11-1' }]);
  });

  test('a fixed vulnerability has its severity, aliases, KEV and EPSS, and is listed once under two ids', () => {
    const { fixed } = facts({
      checks: [check('3.0.11-1', { ids: ['B', 'CVE-9', 'GHSA-1'] }), check('3.0.12-1', {})],
      records: {
        'GHSA-1': {
          ...{ aliases: ['CVE-9'], summary: 'overflow', database_specific: { severity: 'HIGH' } },
        },
        'CVE-9': { aliases: ['GHSA-1'], summary: 'overflow', database_specific: { severity: 'HIGH' } },
      },
      exploited: { 'CVE-9': { kev: true, epss: 0.4 } },
      isKevKnown: true,
    });
    expect(fixed).toEqual([
      {
        ...{ id: 'CVE-9', package: 'libssl3', version: '3.0.11-1', aliases: ['GHSA-1'] },
        ...{ severity: 'high', summary: 'overflow', kev: true, epss: 0.4 },
      },
      {
        ...{ id: 'B', package: 'libssl3', version: '3.0.11-1', aliases: [], severity: null, summary: '' },
        // Its record is not known, so whether it is exploited is not either.
        epss: null,
      },
    ]);
  });

  test.each([
    ['both versions are checked', [check('3.0.11-1', {}), check('3.0.12-1', {})], true],
    ['the version on the host is not checked', [check('3.0.12-1', {})], false],
    ['the new version is not checked', [check('3.0.11-1', { ids: ['A'] })], false],
  ])('what is fixed is complete only if %s', (_what, checks, isComplete) => {
    const { isFixedComplete, fixed } = facts({ checks });
    expect([isFixedComplete, fixed]).toEqual([isComplete, []]);
  });

  test('everything is fixed: the closure is clear', () => {
    const result = facts({ checks: [check('3.0.11-1', { ids: ['A'] }), check('3.0.12-1', {})] });
    expect(result).toMatchObject({ verdict: 'clear', unchecked: null, fixed: [{ id: 'A' }] });
    expect(result.checkedAtMs).toBe(NOW_MS);
  });

  test('an installed version that was never checked does not make a vulnerability look old', () => {
    const { findings, missing } = facts({ checks: [check('3.0.12-1', { ids: ['B'] })] });
    expect(findings).toMatchObject([{ id: 'B', change: 'introduced' }]);
    expect(missing).toEqual({ after: 0, before: 1 });
  });

  test('aliases join GHSA and PYSEC into one finding, and one that the host has under another id is not new', () => {
    const action: PlanAction = {
      action: 'upgrade',
      name: 'left',
      from_version: '1.0.0',
      to_version: '2.0.0',
    };
    const { findings } = facts({
      ecosystem: 'npm',
      actions: [action],
      present: [],
      checks: [
        check('1.0.0', { ids: ['CVE-9'] }, 'left', 'npm'),
        check('2.0.0', { ids: ['GHSA-1', 'OTHER-1'] }, 'left', 'npm'),
      ],
      records: { 'GHSA-1': { aliases: ['CVE-9', 'OTHER-1'] } },
    });
    expect(findings).toMatchObject([
      { id: 'GHSA-1', change: 'still_present', aliases: ['CVE-9', 'OTHER-1'] },
    ]);
  });

  test('details come from the record: severity, summary and the lowest fix above the version', () => {
    const { findings } = facts({
      checks: [check('3.0.12-1', { ids: ['X'] })],
      records: {
        X: {
          summary: 'overflow',
          database_specific: { severity: 'HIGH' },
          affected: [
            {
              package: { ecosystem: 'Debian:12', name: 'openssl' },
              ranges: [
                { type: 'GIT', events: [{ fixed: 'abc' }] },
                { type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '3.0.2-1' }] },
                { type: 'ECOSYSTEM', events: [{ fixed: '3.0.20-1' }, { fixed: '3.0.14-1' }] },
              ],
            },
            {
              package: { ecosystem: 'Debian:11', name: 'openssl' },
              ranges: [{ type: 'ECOSYSTEM', events: [{ fixed: '3.0.13-1' }] }],
            },
          ],
        },
      },
    });
    expect(findings).toMatchObject([{ severity: 'high', summary: 'overflow', fixedIn: '3.0.14-1' }]);
  });

  test.each([
    ['its id', 'MAL-2025-1', {}],
    ['an alias', 'GHSA-1', { aliases: ['MAL-2025-1'] }],
    ["GHSA's mark of malware", 'GHSA-1', { database_specific: { cwe_ids: ['CWE-506'] } }],
  ])('a malicious package is recognised by %s, and listed first', (_what, id, record) => {
    const { findings } = facts({
      checks: [check('3.0.11-1', { ids: [id] }), check('3.0.12-1', { ids: ['A', id] })],
      records: { [id]: record },
    });
    expect(findings[0]).toMatchObject({ id, malicious: true });
    expect(findings[1]).toMatchObject({ id: 'A', malicious: false });
  });
});

describe('a vulnerability that several advisories tell of', () => {
  const records = {
    'DEBIAN-CVE-1': { upstream: ['CVE-1'], database_specific: { severity: 'LOW' } },
    'DEBIAN-CVE-2': { upstream: ['CVE-2'] },
    'DSA-1': { upstream: ['CVE-1'], summary: 'overflow', database_specific: { severity: 'HIGH' } },
    'DSA-12': { upstream: ['CVE-1', 'CVE-2'], database_specific: { severity: 'CRITICAL' } },
    'GHSA-1': { aliases: ['CVE-1'] },
    'PYSEC-1': { aliases: ['CVE-1'] },
    'PYSEC-2': { aliases: ['GHSA-1'] },
    'ALSA-1': { related: ['CVE-1'] },
  };

  test.each<[string, string[], Record<string, string[]>]>([
    ['stands once', ['DSA-1', 'DEBIAN-CVE-1'], { 'DEBIAN-CVE-1': ['CVE-1', 'DSA-1'] }],
    ['whether or not one names the other', ['PYSEC-1', 'GHSA-1'], { 'GHSA-1': ['CVE-1', 'PYSEC-1'] }],
    ['also if only the second names the first', ['GHSA-1', 'PYSEC-2'], { 'GHSA-1': ['CVE-1', 'PYSEC-2'] }],
    [
      'has the advisory about several that it is in',
      ['DEBIAN-CVE-2', 'DSA-12', 'DEBIAN-CVE-1'],
      { 'DEBIAN-CVE-1': ['CVE-1', 'DSA-12'], 'DEBIAN-CVE-2': ['CVE-2', 'DSA-12'] },
    ],
    [
      'stands beside an advisory about several if another of these has no record',
      ['DSA-12', 'DEBIAN-CVE-1'],
      { 'DEBIAN-CVE-1': ['CVE-1'], 'DSA-12': [] },
    ],
    ['stands beside what is only related to it', ['ALSA-1', 'GHSA-1'], { 'ALSA-1': [], 'GHSA-1': ['CVE-1'] }],
  ])('%s', (_what, ids, expected) => {
    const brought = facts({ checks: [check('3.0.12-1', { ids })], records });
    const removed = facts({ checks: [check('3.0.11-1', { ids }), check('3.0.12-1', {})], records });
    for (const list of [brought.findings, removed.fixed])
      expect(Object.fromEntries(list.map(({ id, aliases }) => [id, aliases]))).toEqual(expected);
    const count = Object.keys(expected).length;
    expect(partCounts(removed)).toEqual({ introduces: 0, stays: 0, fixes: count });
  });

  test('has the worst severity of its own records, else that of the advisory, and what any of them says', () => {
    const ids = ['DEBIAN-CVE-1', 'DEBIAN-CVE-2', 'DSA-1', 'DSA-12'];
    const { findings } = facts({
      checks: [check('3.0.12-1', { ids })],
      records,
      exploited: { 'CVE-2': { kev: true, epss: 0.4 } },
      isKevKnown: true,
    });
    expect(findings).toMatchObject([
      { id: 'DEBIAN-CVE-2', severity: 'critical', kev: true, epss: 0.4 },
      { id: 'DEBIAN-CVE-1', severity: 'high', summary: 'overflow', kev: false, epss: null },
    ]);
  });

  test('stays if it has one of them afterwards, and is not new if the host has another of them', () => {
    const { findings, fixed } = facts({
      checks: [check('3.0.11-1', { ids: ['DSA-1', 'DSA-12'] }), check('3.0.12-1', { ids: ['DEBIAN-CVE-1'] })],
      records,
    });
    expect(findings).toMatchObject([{ id: 'DEBIAN-CVE-1', change: 'still_present' }]);
    expect(fixed).toMatchObject([{ id: 'DSA-12' }]);
  });

  test('an advisory fixes what of it does not stay', () => {
    const before = ['DEBIAN-CVE-1', 'DEBIAN-CVE-2', 'DSA-12'];
    const { findings, fixed } = facts({
      checks: [check('3.0.11-1', { ids: before }), check('3.0.12-1', { ids: ['DEBIAN-CVE-2'] })],
      records,
    });
    expect(findings).toMatchObject([{ id: 'DEBIAN-CVE-2', change: 'still_present' }]);
    expect(fixed).toMatchObject([{ id: 'DEBIAN-CVE-1', aliases: ['CVE-1', 'DSA-12'] }]);
    expect(fixed).toHaveLength(1);
  });

  test('stands beside an advisory about more than a record keeps', () => {
    const placeOf = (count: number) => {
      const cves = Array.from({ length: count }, (_, i) => `CVE-${i}`);
      const ids = [...cves, 'DSA-1'];
      const { findings } = facts({
        checks: [check('3.0.12-1', { ids })],
        records: { 'DSA-1': { upstream: cves } },
      });
      return findings.filter(({ id }) => id === 'DSA-1').length;
    };
    expect([placeOf(99), placeOf(100)]).toEqual([0, 1]);
  });

  test('a statement may name it by each of its own ids, and by none of an advisory about several', () => {
    const ids = ['DEBIAN-CVE-1', 'DEBIAN-CVE-2', 'DSA-1', 'DSA-12'];
    const { findings } = facts({ checks: [check('3.0.12-1', { ids })], records });
    expect(findings.map(({ names }) => names)).toEqual([
      ['DEBIAN-CVE-1', 'CVE-1', 'DSA-1'],
      ['DEBIAN-CVE-2', 'CVE-2'],
    ]);
  });

  test('is unimportant only if the advisory about several says so too', () => {
    const specific = { ecosystem_specific: { urgency: 'unimportant' } };
    const affected = [{ package: { ecosystem: 'Debian:12', name: 'openssl' }, ...specific }];
    const wordsOf = (dsa: object) =>
      facts({
        checks: [check('3.0.12-1', { ids: ['DEBIAN-CVE-1', 'DEBIAN-CVE-2', 'DSA-12'] })],
        records: {
          'DEBIAN-CVE-1': { ...records['DEBIAN-CVE-1'], affected },
          'DEBIAN-CVE-2': { ...records['DEBIAN-CVE-2'], affected },
          'DSA-12': { ...records['DSA-12'], ...dsa },
        },
      }).findings.map(({ vendor }) => vendor?.status ?? null);
    expect(wordsOf({ affected })).toEqual(['unimportant', 'unimportant']);
    expect(wordsOf({})).toEqual([null, null]);
  });
});

describe('the ids by which a statement may name a finding', () => {
  test.each([
    ['a record of one CVE', 'DEBIAN-CVE-1', { upstream: ['CVE-1'] }, ['DEBIAN-CVE-1', 'CVE-1']],
    ['aliases of one CVE', 'GHSA-1', { aliases: ['CVE-1', 'PYSEC-1'] }, ['GHSA-1', 'CVE-1', 'PYSEC-1']],
    ['an advisory about several CVEs: its own', 'DSA-1', { upstream: ['CVE-1', 'CVE-2'] }, ['DSA-1']],
    ['a CVE that another one is an alias of: its own', 'CVE-1', { aliases: ['CVE-2'] }, ['CVE-1']],
    ['related ids say nothing', 'ALSA-1', { related: ['CVE-1'] }, ['ALSA-1']],
    ['no record: its own', 'CVE-1', null, ['CVE-1']],
  ])('%s', (_what, id, record, names) => {
    const { findings } = facts({
      checks: [check('3.0.12-1', { ids: [id] })],
      records: record ? { [id]: record } : {},
    });
    expect(findings).toMatchObject([{ id, names }]);
  });

  test('records that are shown as one share the worst: malicious, exploited, and a word only if all say it', () => {
    const unimportant = {
      affected: [
        {
          package: { ecosystem: 'Debian:12', name: 'openssl' },
          ecosystem_specific: { urgency: 'unimportant' },
        },
      ],
    };
    const joined = (other: object) =>
      facts({
        checks: [check('3.0.12-1', { ids: ['DEBIAN-CVE-1', 'OTHER-1'] })],
        records: { 'DEBIAN-CVE-1': { ...unimportant, aliases: ['OTHER-1'] }, 'OTHER-1': other },
      }).findings;
    expect(joined(unimportant)).toMatchObject([{ vendor: { status: 'unimportant' }, malicious: false }]);
    expect(joined({})).toMatchObject([{ vendor: null }]);
    expect(joined({ ...unimportant, aliases: ['MAL-1'] })).toMatchObject([{ malicious: true }]);
  });

  test('not listed as exploited needs the loaded list and every record', () => {
    const checks = [check('3.0.12-1', { ids: ['CVE-1'] })];
    expect(facts({ checks, records: { 'CVE-1': {} } }).findings[0]).not.toHaveProperty('kev');
    expect(facts({ checks, isKevKnown: true }).findings[0]).not.toHaveProperty('kev');
    const known = facts({ checks, records: { 'CVE-1': {} }, isKevKnown: true });
    expect(known.findings).toMatchObject([{ kev: false }]);
  });
});

describe('the verdict of a closure', () => {
  const dependency: PlanAction = {
    ...upgrade,
    name: 'libzlib',
    action: 'install',
    source_name: 'zlib',
    origin: 'Debian:12/stable',
    source_version: '1.2-1',
  };
  const clear = [check('3.0.11-1', {}), check('3.0.12-1', {})];

  test.each([
    ['clear', [upgrade], [], 'clear', null],
    ['no check of a dependency', [upgrade, dependency], [], 'unchecked', 'unreachable'],
    [
      'a vulnerable dependency',
      [upgrade, dependency],
      [check('1.2-1', { ids: ['Z'] }, 'zlib')],
      'vulnerable',
      null,
    ],
    [
      'an uncovered dependency',
      [upgrade, { ...dependency, origin: 'Docker CE:x' }],
      [],
      'unchecked',
      'uncovered',
    ],
    ['no source', [upgrade, { ...dependency, source_name: undefined }], [], 'unchecked', 'undecidable'],
    ['a removal is listed, not judged', [upgrade, { action: 'remove', name: 'old' }], [], 'clear', null],
    [
      'vulnerable beside unchecked',
      [upgrade, { ...dependency, origin: 'epel.example:1' }, { ...dependency, name: 'b' }],
      [check('1.2-1', { ids: ['Z'] }, 'zlib')],
      'vulnerable',
      'uncovered',
    ],
  ] as const)('%s', (_what, actions, checks, verdict, unchecked) => {
    const given = actions.map(({ ...action }) => Object.fromEntries(Object.entries(action)));
    const plain: PlanAction[] = JSON.parse(JSON.stringify(given));
    expect(facts({ actions: plain, checks: [...clear, ...checks] })).toMatchObject({ verdict, unchecked });
  });

  test('an old check counts as unchecked, but a known vulnerability stays known', () => {
    const old = { checkedAtMs: NOW_MS - 1_000 };
    expect(facts({ checks: [check('3.0.11-1', {}), check('3.0.12-1', old)] })).toMatchObject({
      verdict: 'unchecked',
      unchecked: 'unreachable',
    });
    const known = check('3.0.12-1', { ...old, ids: ['A'] });
    expect(facts({ checks: [check('3.0.11-1', {}), known] })).toMatchObject({
      verdict: 'vulnerable',
      unchecked: 'unreachable',
    });
  });

  test('the worst reason comes first', () => {
    const uncovered = { ...dependency, origin: 'Docker CE:x' };
    const { unchecked } = facts({ actions: [upgrade, uncovered], checks: [] });
    expect(unchecked).toBe('unreachable');
  });
});
