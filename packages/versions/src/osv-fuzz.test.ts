import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readAffected } from './osv-record.ts';
import { versionsOf } from './testing/generated-versions.ts';
import { compareVersions, isAffected, prepareRecord } from './versions.ts';

// Records come from outside: whatever they hold, they are judged, in time that grows with their length.
const isLong = process.env.TIDEGATE_LONG === '1';
const RUNS = isLong ? { numRuns: 1e9, interruptAfterTimeLimit: 60_000 } : { numRuns: 3_000 };
const HUGE = 100_000;
/** Backtracking of 10^5 characters takes minutes of the processor's time; reading them takes milliseconds. */
const HUGE_MS = 2_000;

const ECOSYSTEMS = [
  'npm',
  'PyPI',
  'Debian:12',
  'Debian',
  'Ubuntu:22.04:LTS',
  'AlmaLinux:9',
  'openEuler:24.03-LTS',
  'Fedora:40',
  '',
  ':',
  '__proto__',
];
const NAMES = ['openssl', 'Zope.Interface', '@scope/x', '', '__proto__', 'constructor', 'toString'];

/** Weighted, so that records and questions often meet. */
const ecosystem = often('npm', fc.constantFrom(...ECOSYSTEMS));
const name = often('openssl', fc.constantFrom(...NAMES));
const version = fc.oneof(
  ...(['npm', 'pypi', 'apt', 'dnf'] as const).map((each) => versionsOf(each)),
  fc.constantFrom('0', '0', '*', '', '1', '1.0.0', '1.0.0', '__proto__', '1 2', '\u0000', '\ud800'),
  fc.string({ maxLength: 20 }),
);

function often(value: string, others: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof({ weight: 4, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: others });
}

/** What the schema wants, or something else in its place. */
function mostly<T>(value: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 30, arbitrary: value }, { weight: 1, arbitrary: fc.anything() });
}

const event = fc.oneof(
  fc
    .tuple(fc.constantFrom('introduced', 'fixed', 'last_affected', 'limit', '__proto__'), mostly(version))
    .map(
      // As JSON.parse does it: an own member, whatever its name.
      ([kind, at]) => Object.fromEntries([[kind, at]]),
    ),
  fc.record({ introduced: version, fixed: version }),
  fc.constant({ introduced: '0' }),
);
const range = fc.record(
  {
    type: mostly(fc.constantFrom('SEMVER', 'ECOSYSTEM', 'GIT', 'ecosystem', '__proto__')),
    events: mostly(fc.array(mostly(event), { maxLength: 6 })),
  },
  { requiredKeys: [] },
);
const entry = fc.record(
  {
    package: mostly(fc.record({ ecosystem: mostly(ecosystem), name: mostly(name) }, { requiredKeys: [] })),
    versions: mostly(fc.array(mostly(version), { maxLength: 4 })),
    ranges: mostly(fc.array(mostly(range), { maxLength: 3 })),
  },
  { requiredKeys: [] },
);
const record = fc.record(
  {
    id: mostly(fc.string()),
    withdrawn: fc.oneof(
      fc.constantFrom(null, '', '0001-01-01T00:00:00Z', '2024-08-02T20:32:38Z'),
      fc.anything(),
    ),
    affected: mostly(fc.array(mostly(entry), { maxLength: 3 })),
  },
  { requiredKeys: [] },
);

/** Speaks of what is mostly asked about, in the schema's form but for one member: without it `affected` is a rare case. */
const close = fc.record({
  affected: fc.tuple(
    fc.record({
      package: fc.constant({ ecosystem: 'npm', name: 'openssl' }),
      versions: mostly(fc.array(version, { maxLength: 3 })),
      ranges: fc.tuple(
        fc.constant({ type: 'SEMVER', events: [{ introduced: '0' }] }),
        fc.record({ type: fc.constantFrom('SEMVER', 'GIT'), events: mostly(fc.array(event)) }),
      ),
    }),
  ),
});

const VERDICTS = ['affected', 'unaffected', 'undecidable'];

test('a record of any form gives one of three verdicts and no side effects', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(
      fc.oneof(
        { weight: 4, arbitrary: record },
        { weight: 1, arbitrary: close },
        { weight: 1, arbitrary: fc.anything() },
      ),
      ecosystem,
      name,
      version,
      (given, ...asked) => {
        const [askedEcosystem, askedName, askedVersion] = asked;
        readAffected(given);
        const verdict = isAffected(given, {
          ecosystem: askedEcosystem,
          name: askedName,
          version: askedVersion,
        });
        expect(VERDICTS).toContain(verdict);
        seen.set(verdict, (seen.get(verdict) ?? 0) + 1);
        expectUnpolluted();
      },
    ),
    RUNS,
  );
  expect([...seen.keys()].toSorted()).toEqual(VERDICTS);
});

test('a record of the schema’s form is judged alike before and after a trip through JSON, and in any order of events', () => {
  const sound = fc.record({
    package: fc.record({ ecosystem, name }),
    versions: fc.array(version, { maxLength: 3 }),
    ranges: fc.array(
      fc.record({
        type: fc.constantFrom('SEMVER', 'ECOSYSTEM', 'GIT'),
        events: fc.array(
          fc
            .tuple(fc.constantFrom('introduced', 'fixed', 'last_affected', 'limit'), version)
            .map(([kind, at]) => ({ [kind]: at.toWellFormed() })),
          { maxLength: 6 },
        ),
      }),
      { maxLength: 3 },
    ),
  });
  fc.assert(
    fc.property(fc.array(sound, { maxLength: 3 }), version, (affected, asked) => {
      const packages = affected.map((one) => one.package);
      for (const subject of packages) {
        const question = { ...subject, version: asked };
        const verdict = isAffected({ id: 'X-1', affected }, question);
        const copy: unknown = JSON.parse(JSON.stringify({ id: 'X-1', affected }));
        if (asked.isWellFormed()) expect(isAffected(copy, question)).toBe(verdict);
        const reversed = affected.map((one) => ({
          ...one,
          ranges: one.ranges.map((each) => ({ ...each, events: each.events.toReversed() })).toReversed(),
        }));
        expect(isAffected({ id: 'X-1', affected: reversed.toReversed() }, question)).toBe(verdict);
      }
    }),
    RUNS,
  );
});

test('any text is ordered or undecidable, with the same result each time', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('npm', 'pypi', 'apt', 'dnf', '__proto__'),
      version,
      version,
      (order, a, b) => {
        const forward = compareVersions(order, a, b);
        const backward = compareVersions(order, b, a);
        if (forward === 'undecidable' || backward === 'undecidable') expect(backward).toBe(forward);
        else expect(forward + backward).toBe(0);
      },
    ),
    RUNS,
  );
});

/** The openings at which regular expressions of versions and names have been known to go astray. */
const LONG_TEXTS = [
  ['0', ''],
  ['1.', ''],
  ['9', 'x'],
  ['-', ''],
  ['a', '!'],
  ['1-', ''],
  ['1.0-a.', '!'],
  ['1.0+a.', '!'],
  ['~', ''],
  ['^', ''],
  ['1:', ''],
  ['-_.', 'x'],
  ['@', '/'],
  [' ', 'x'],
  ['\n', ''],
  ['1.0.0-0', '\n'],
  ['v', '1'],
] as const;

test.each(LONG_TEXTS)('10^5 characters of %j before %j take no time', (part, end) => {
  const huge = part.repeat(Math.ceil(HUGE / part.length)) + end;
  const before = process.threadCpuUsage();
  for (const order of ['npm', 'pypi', 'apt', 'dnf', huge]) compareVersions(order, huge, `1${huge}`);
  for (const eco of ECOSYSTEMS) {
    const affected = [
      {
        package: { ecosystem: eco, name: huge },
        versions: [huge],
        ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: huge }, { fixed: `1${huge}` }] }],
      },
      {
        package: { ecosystem: `${eco}:${huge}`, name: huge },
        ranges: [{ type: huge, events: [{ [huge]: huge }] }],
      },
    ];
    const given = { id: huge, withdrawn: huge, affected };
    for (const asked of [huge, '1.0.0', `0${huge}`]) {
      expect(VERDICTS).toContain(isAffected(given, { ecosystem: eco, name: huge, version: asked }));
      expect(VERDICTS).toContain(isAffected(given, { ecosystem: huge, name: huge, version: asked }));
    }
  }
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(HUGE_MS);
});

test('10^5 versions, events, limits and entries are judged without a call stack of their number', () => {
  const many = Array.from({ length: HUGE }, (_, at) => at);
  const subject = { ecosystem: 'npm', name: 'x' };
  const record = {
    affected: [
      { package: subject, versions: many.map((at) => `1.${at}.0`) },
      {
        package: subject,
        ranges: [{ type: 'SEMVER', events: many.map((at) => ({ introduced: `2.${at}.0` })) }],
      },
      {
        package: subject,
        ranges: [
          { type: 'SEMVER', events: [{ introduced: '0' }, ...many.map((at) => ({ limit: `3.${at}.0` }))] },
        ],
      },
      ...many.map(() => ({ package: { ecosystem: 'npm', name: 'y' } })),
    ],
  };
  const judge = prepareRecord(record, subject);
  expect([judge('1.99999.0+b'), judge('2.0.0'), judge('3.99999.0')]).toEqual([
    'affected',
    'affected',
    'affected',
  ]);
});

function expectUnpolluted(): void {
  for (const prototype of [Object.prototype, Array.prototype, String.prototype]) {
    expect(Object.keys(prototype)).toEqual([]);
  }
}
