import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { isAffected } from '@tidegate/versions';
import { isWithdrawn, readAffected } from '@tidegate/versions/osv-record';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { saidOf } from '../matching/entry-store.ts';
import { createGroups } from '../matching/match-entries.ts';
import { readMirrorRecord, unreadableReason } from './record-rules.ts';

// A record reduced for the mirror must never look cleaner than the full one.
const isLong = process.env.TIDEGATE_LONG === '1';
const RUNS = isLong ? { numRuns: 1e9, interruptAfterTimeLimit: 60_000 } : { numRuns: 3_000 };
const ID = 'X-1';

function mostly<T>(value: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 30, arbitrary: value }, { weight: 1, arbitrary: fc.jsonValue() });
}

const SUBJECTS = [
  { ecosystem: 'npm', name: 'left' },
  { ecosystem: 'PyPI', name: 'zope-interface' },
  { ecosystem: 'Debian:12', name: 'openssl' },
  { ecosystem: 'AlmaLinux:9', name: 'openssl-libs' },
] as const;
const named = fc.constantFrom(
  ...SUBJECTS,
  { ecosystem: 'PyPI', name: 'Zope.Interface' },
  { ecosystem: 'Debian', name: 'openssl' },
  { ecosystem: 'Debian:13', name: 'openssl' },
  { ecosystem: 'AlmaLinux', name: 'openssl-libs' },
);
const version = fc.constantFrom(
  ...['0', '1', '1.0', '1.0.0', '1.0.1', '2.0.0', '3.0.12-1', '0:3.0.12-1.el9', '*', '1 2', ''],
);
const event = fc.oneof(
  fc
    .tuple(fc.constantFrom('introduced', 'fixed', 'last_affected', 'limit', 'unknown'), mostly(version))
    .map(([kind, at]) => ({ [kind]: at })),
  fc.constant({ introduced: '0' }),
  fc.record({ introduced: version, fixed: version }),
);
const range = fc.record(
  {
    type: mostly(fc.constantFrom('SEMVER', 'ECOSYSTEM', 'ECOSYSTEM', 'GIT', 'CALVER')),
    events: mostly(fc.array(mostly(event), { maxLength: 4 })),
  },
  { requiredKeys: [] },
);
const entry = fc.record(
  {
    package: mostly(named),
    versions: mostly(fc.array(mostly(version), { maxLength: 3 })),
    ranges: mostly(fc.array(mostly(range), { maxLength: 3 })),
  },
  { requiredKeys: [] },
);
const record = fc.record(
  {
    id: fc.constant(ID),
    modified: mostly(fc.constant('2026-01-02T00:00:00Z')),
    withdrawn: mostly(fc.constantFrom('0001-01-01T00:00:00Z', '2024-08-02T20:32:38Z', null)),
    affected: mostly(fc.array(mostly(entry), { minLength: 1, maxLength: 3 })),
    aliases: fc.jsonValue(),
    severity: fc.jsonValue(),
    database_specific: fc.jsonValue(),
  },
  { requiredKeys: ['id', 'modified', 'affected'] },
);

test('a record reduced for the mirror looks neither cleaner nor worse than the full one', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(record, fc.constantFrom(...SUBJECTS), version, (given, subject, asked) => {
      const question = { ...subject, version: asked };
      const whole = isAffected(given, question);
      const fromMirror = matchInMirror(JSON.stringify(given), question);
      const about = isOfNobodyKnown(given) ? 'any' : 'some';
      seen.set(`${about} ${whole}`, (seen.get(`${about} ${whole}`) ?? 0) + 1);
      // It may affect any package: nothing is clear.
      if (about === 'any') expect([whole, fromMirror]).toEqual(['undecidable', 'undecidable']);
      // A partly unreadable record is undecidable for all the packages that it names, or for every package.
      expect([whole, 'undecidable']).toContain(fromMirror);
      if (fromMirror !== whole) expect(isReadAsAWhole(given)).toBe(false);
    }),
    RUNS,
  );
  expect([...seen.keys()].toSorted()).toEqual([
    'any undecidable',
    'some affected',
    'some unaffected',
    'some undecidable',
  ]);
});

test('text that JSON.parse accepts never looks cleaner in the mirror than it is', () => {
  const wedge = fc.constantFrom(
    ...[
      '"affected":[],',
      '"__proto__":{},',
      '"id":"X-1",',
      '"a":"\\u0000",',
      '"a":"\\ud800",',
      '"a":"\u0000",',
    ],
    ...[
      `"a":${'['.repeat(40)}${']'.repeat(40)},`,
      '"package":{"ecosystem":"npm","name":"left"},',
      '"x":{"affected":1},',
    ],
  );
  const wedged = fc
    .tuple(record, fc.array(fc.tuple(fc.nat(), wedge), { minLength: 1, maxLength: 3 }))
    .map(([given, wedges]) =>
      wedges.reduce((text, [at, more]) => {
        const opened = [...text.matchAll(/\{(?=")/g)].map(({ index }) => index + 1);
        const where = opened[at % opened.length] ?? 1;
        return text.slice(0, where) + more + text.slice(where);
      }, JSON.stringify(given)),
    );
  let compared = 0;
  fc.assert(
    fc.property(wedged, fc.constantFrom(...SUBJECTS), version, (text, subject, asked) => {
      const given = parsed(text);
      if (given === undefined) return;
      compared += 1;
      const question = { ...subject, version: asked };
      expect([isAffected(given, question), 'undecidable']).toContain(matchInMirror(text, question));
    }),
    RUNS,
  );
  expect(compared).toBeGreaterThan(0);
});

test('any bytes are either a record or unreadable', () => {
  const broken = fc
    .tuple(record, fc.nat(), fc.constantFrom('', '"', '}', '{"package":', '\u0000', '"__proto__":{},'))
    .map(([given, at, wedge]) => {
      const text = JSON.stringify(given);
      return text.slice(0, at % text.length) + wedge + (wedge === '' ? '' : text.slice(at % text.length));
    });
  fc.assert(
    fc.property(
      fc.oneof(
        broken.map((text) => Buffer.from(text)),
        fc.uint8Array(),
      ),
      (bytes) => {
        const read = readMirrorRecord(bytes, { id: ID, releases: ['Debian:12', 'npm'] });
        expect(['record', 'unreadable']).toContain(read.kind);
        // Bytes that are no JSON may have named any package.
        if (parsed(new TextDecoder().decode(bytes)) === undefined)
          expect(unreadableReason(read)).not.toBeNull();
        expect(Object.keys(Object.prototype)).toEqual([]);
      },
    ),
    RUNS,
  );
});

type Subject = (typeof SUBJECTS)[number];

/** As the mirror stores and queries it: by the normalised name. */
function matchInMirror(
  text: string,
  { ecosystem, name, version: asked }: Subject & { version: string },
): string {
  const read = readMirrorRecord(Buffer.from(text), { id: ID, releases: null });
  const empty = unreadableReason(read) === null ? 'unaffected' : 'undecidable';
  if (read.kind === 'unreadable') return empty;
  const rows = read.record.entries
    .filter((one) => one.name === name)
    .map((one) => ({ id: ID, said: saidOf(one) }));
  const { ids, undecidable } = createGroups().put('s', name, rows).match({ ecosystem, name, version: asked });
  if (ids.length > 0) return 'affected';
  return undecidable ? 'undecidable' : empty;
}

function isOfNobodyKnown(given: unknown): boolean {
  return readAffected(given) === null && !isWithdrawn(given);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function packagesOf({ affected }: { affected: unknown }): { ecosystem: string; name: string }[] {
  if (!Array.isArray(affected)) return [];
  return affected.flatMap((one: unknown) => {
    const target = isMembers(one) ? one.package : null;
    if (!isMembers(target)) return [];
    const { ecosystem, name } = target;
    return typeof ecosystem === 'string' && typeof name === 'string' ? [{ ecosystem, name }] : [];
  });
}

/** Whether it is JSON without traps, and its time and all of its packages match the schema. */
function isReadAsAWhole(given: { modified: unknown; affected: unknown }): boolean {
  if (!parseStrictJson(JSON.stringify(given)).ok) return false;
  const { modified, affected } = given;
  const hasTime = typeof modified === 'string' && !Number.isNaN(Date.parse(modified));
  if (!hasTime || !Array.isArray(affected)) return false;
  return affected.every(
    (one: unknown) => isMembers(one) && (!('package' in one) || packagesOf({ affected: [one] }).length === 1),
  );
}

function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
