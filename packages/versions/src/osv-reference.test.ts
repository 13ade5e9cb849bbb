import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { isAffected } from './versions.ts';

// Third-party records lie beside the repository and are not part of it.
const folder = path.join(import.meta.dirname, '../../../../shared/data/osv');
const REFERENCE = path.join(import.meta.dirname, 'testing/osv-reference.py');
const PYTHON = '/usr/bin/python3'; // the one whose modules the distribution's packages are

type Event = Record<string, string>;
type Range = { type: string; events: Event[] };
type Entry = { package: { ecosystem: string; name: string }; versions?: string[]; ranges?: Range[] };
type OsvRecord = { id: string; withdrawn?: string; aliases?: string[]; affected: Entry[] };
type Case = [record: number, ecosystem: string, name: string, version: string];

const missing = whatIsMissing();
if (missing !== null) console.warn(`skipped: matching against an independent implementation: ${missing}`);

/** What a source may make of a record; each is judged by both implementations like the record itself. */
const VARIANTS: Readonly<Record<string, (record: OsvRecord) => OsvRecord>> = {
  'as it is': (record) => record,
  withdrawn: (record) => ({ ...record, withdrawn: '2024-08-02T20:32:38Z' }),
  'withdrawn at the zero instant': (record) => ({ ...record, withdrawn: '0001-01-01T00:00:00Z' }),
  'commits before versions': eachEntry((entry) => {
    const commits = { type: 'GIT', events: [{ introduced: '0' }, { fixed: 'deadbeef' }] };
    return { ...entry, ranges: [commits, ...(entry.ranges ?? [])] };
  }),
  'events in reverse': eachRange((range) => ({ ...range, events: range.events.toReversed() })),
  'last affected in place of fixed': eachEvent(({ fixed, ...event }) =>
    fixed === undefined ? event : { last_affected: fixed },
  ),
  'limits in place of fixed': eachEvent(({ fixed, ...event }) =>
    fixed === undefined ? event : { limit: fixed },
  ),
  'a limit at the introduction, and none': eachRange((range) => {
    const limits = range.events.flatMap(({ introduced }) =>
      introduced && introduced !== '0' ? [{ limit: introduced }] : [],
    );
    return { ...range, events: [...range.events, ...limits, { limit: '*' }] };
  }),
  'introduced where it is fixed': eachRange((range) => ({
    ...range,
    events: [...range.events, ...range.events.flatMap(({ fixed }) => (fixed ? [{ introduced: fixed }] : []))],
  })),
  'the bare ecosystem': eachEntry((entry) => {
    const [ecosystem = ''] = entry.package.ecosystem.split(':');
    return { ...entry, package: { ...entry.package, ecosystem } };
  }),
  'the other name of the range type': eachRange((range) => ({
    ...range,
    type: range.type === 'SEMVER' ? 'ECOSYSTEM' : range.type === 'ECOSYSTEM' ? 'SEMVER' : range.type,
  })),
  'an event without a place': eachRange((range) => ({
    ...range,
    events: [...range.events, { fixed: '1 2' }],
  })),
  'without its ranges': eachEntry(({ ranges: _, ...entry }) => entry),
  'without its versions': eachEntry(({ versions: _, ...entry }) => entry),
  'under aliases': (record) => ({ ...record, aliases: ['CVE-1', 'GHSA-1'] }),
  'as malware': (record) => ({ ...record, id: `MAL-${record.id}` }),
};

describe.skipIf(missing !== null)('matching agrees with an independent implementation in Python', () => {
  const judged = new Map<string, { cases: number; wrong: string[]; verdicts: Set<string> }>();

  beforeAll(async () => {
    const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
    const real = files.map((file): OsvRecord => JSON.parse(readFileSync(path.join(folder, file), 'utf8')));
    expect(real).toHaveLength(68);
    const variants = Object.entries(VARIANTS).flatMap(([name, vary]) =>
      real.map((record) => ({ name, record: vary(record) })),
    );
    const cases = variants.flatMap(({ record }, at) => casesOf(record, at));
    const expected = await askReference({ records: variants.map(({ record }) => record), cases });
    for (const [at, [place, ecosystem, name, version]] of cases.entries()) {
      const variant = variants[place];
      if (variant === undefined) throw new Error('a case of no record');
      const verdict = isAffected(variant.record, { ecosystem, name, version });
      const tally = judged.get(variant.name) ?? { cases: 0, wrong: [], verdicts: new Set() };
      judged.set(variant.name, tally);
      tally.cases += 1;
      tally.verdicts.add(verdict);
      if (verdict !== expected[at]) {
        tally.wrong.push(
          `${variant.record.id} of ${ecosystem}: ${name} ${version}: ${verdict}, not ${expected[at]}`,
        );
      }
    }
  });

  test.each(Object.keys(VARIANTS))('on all 68 records, %s', (variant) => {
    const tally = judged.get(variant);
    expect(tally?.wrong.slice(0, 10)).toEqual([]);
    expect(tally?.cases).toBeGreaterThan(4_000);
  });

  test('every verdict was met', () => {
    const verdicts = (variant: string) => [...(judged.get(variant)?.verdicts ?? [])].toSorted();
    expect(verdicts('as it is')).toEqual(['affected', 'unaffected', 'undecidable']);
    expect(verdicts('withdrawn')).toEqual(['unaffected']);
    expect(verdicts('withdrawn at the zero instant')).toEqual(['affected', 'unaffected', 'undecidable']);
  });
});

/** Every name of the record at the versions around each of its boundaries, on its own system and on others. */
function casesOf({ affected }: OsvRecord, at: number): Case[] {
  const cases: Case[] = [];
  for (const { package: named, versions = [], ranges = [] } of affected) {
    const [base = ''] = named.ecosystem.split(':');
    const events = ranges.filter(({ type }) => type !== 'GIT').flatMap((range) => range.events);
    // A thousand listed versions are alike: the first, the last and some between.
    const listed = versions.filter(
      (_, place) => place < 2 || place % 100 === 50 || place > versions.length - 3,
    );
    const boundaries = new Set([...events.flatMap((event) => Object.values(event)), ...listed]);
    const probes = new Set([...boundaries].flatMap((boundary) => probesOf(base, boundary)));
    for (const version of [...probes, '', '1_0 2', '0', '999999']) {
      cases.push([at, named.ecosystem, named.name, version]);
    }
    for (const version of boundaries) {
      for (const ecosystem of [base, `${base}:99`, 'Fedora:40'])
        cases.push([at, ecosystem, named.name, version]);
      for (const name of [named.name.toUpperCase(), named.name.replaceAll('-', '_.'), `${named.name}x`]) {
        cases.push([at, named.ecosystem, name, version]);
      }
    }
  }
  return cases;
}

/** The boundary itself, just below it, just above it, and in other spellings. */
function probesOf(base: string, boundary: string): string[] {
  const changed = (by: bigint) =>
    boundary.replace(/[0-9]+(?=[^0-9]*$)/, (run) => `${BigInt(run) + by < 0n ? 0n : BigInt(run) + by}`);
  const near = [
    boundary,
    changed(1n),
    changed(-1n),
    boundary.replace(/[0-9]+/, (run) => `${BigInt(run) + 1n}`),
  ];
  switch (base) {
    case 'npm':
      return [...near, `${boundary}-0`, `${boundary}+b`, `v${boundary}`, boundary.replace(/\.[0-9]+$/, '')];
    case 'PyPI':
      return near.flatMap((text) => [
        text,
        `${text}.0`,
        `${text}.dev0`,
        `${text}.post1`,
        `${text}+local`,
        `v${text}`,
        `${text}rc1`,
        `0!${text}`,
      ]);
    default: {
      const withoutEpoch = boundary.replace(/^[0-9]+:/, '');
      const spellings = [
        withoutEpoch,
        `0:${withoutEpoch}`,
        `1:${withoutEpoch}`,
        boundary.replace(/-[^-]*$/, ''),
      ];
      return [
        ...near,
        ...spellings,
        `${boundary}~`,
        `${boundary}+b1`,
        `${boundary}.1`,
        `${boundary}0`,
        `${boundary}^1`,
        boundary.replace(/([0-9]+)$/, '0$1'),
      ];
    }
  }
}

function eachEntry(change: (entry: Entry) => Entry): (record: OsvRecord) => OsvRecord {
  return (record) => ({ ...record, affected: record.affected.map(change) });
}

function eachRange(change: (range: Range) => Range): (record: OsvRecord) => OsvRecord {
  return eachEntry((entry) => ({
    ...entry,
    ranges: (entry.ranges ?? []).map((range) => (range.type === 'GIT' ? range : change(range))),
  }));
}

function eachEvent(change: (event: Event) => Event): (record: OsvRecord) => OsvRecord {
  return eachRange((range) => ({ ...range, events: range.events.map(change) }));
}

function askReference(given: { records: OsvRecord[]; cases: Case[] }): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const child = execFile(PYTHON, [REFERENCE], { maxBuffer: 64 * 1024 * 1024 }, (error, stdout) => {
      if (error) reject(error);
      else resolve(stdout.trim().split('\n'));
    });
    child.stdin?.end(JSON.stringify(given));
  });
}

function whatIsMissing(): string | null {
  if (!existsSync(folder)) return 'the real OSV records are not in ../shared/data/osv';
  if (!isThere('dpkg', '--version')) return 'dpkg is not installed';
  if (!isThere(PYTHON, '-c', 'import rpm, packaging'))
    return 'python3-rpm or python3-packaging is not installed';
  return null;
}

function isThere(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
