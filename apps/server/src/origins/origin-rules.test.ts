import type { PlanAction } from '@tidegate/protocol/plan';
import { describe, expect, test } from 'vitest';
import {
  ORIGIN_USES_MAX,
  type OriginFact,
  originFact,
  originsAllow,
  type Registration,
  registrationFor,
  suiteOf,
} from './origin-rules.ts';

const KEY = 'a'.repeat(40);
const DAY_MS = 86_400_000;
const NOW = 100 * DAY_MS;
const DOCKER: Registration = {
  ...{ id: 'r', sha256: 's', ecosystem: 'apt', key: KEY, suites: ['Docker CE:bookworm'], rule: 'allow' },
  ...{ minAgeDays: null, reason: 'ours', endsAtMs: NOW + 1 },
};
const ACTION: PlanAction = {
  ...{ action: 'upgrade', name: 'runc', to_version: '2-1', origin: 'Docker CE:bookworm', origin_key: KEY },
};

/** An absent member, where a case says undefined. */
function known({
  origin = 'Docker CE:bookworm',
  ...rest
}: {
  origin?: string;
  origin_key?: string | undefined;
}) {
  const key = 'origin_key' in rest ? rest.origin_key : KEY;
  return { origin, origin_key: key ?? '' };
}

describe('which registration applies', () => {
  test.each<[string, { origin?: string; origin_key?: string | undefined }, Partial<Registration>, boolean]>([
    ['its key and suite', {}, {}, true],
    ['another key', { origin_key: 'b'.repeat(40) }, {}, false],
    ['no key', { origin_key: undefined }, {}, false],
    ['another suite of the label', { origin: 'Docker CE:trixie' }, {}, false],
    ['a longer name', { origin: 'Docker CE:bookworm-test' }, {}, false],
    ['one of two archives', { origin: 'Docker CE:bookworm, Evil:x' }, {}, false],
    [
      'both of two archives',
      { origin: 'Docker CE:bookworm, b:x' },
      { suites: ['b:x', 'Docker CE:bookworm'] },
      true,
    ],
    ['another release of the suite', { origin: 'Own:12.6/stable' }, { suites: ['Own:stable'] }, true],
    ['the other ecosystem', {}, { ecosystem: 'dnf' }, false],
  ])('%s', (_what, action, registration, applies) => {
    const found = registrationFor('apt', { ...ACTION, ...known(action) }, [{ ...DOCKER, ...registration }]);
    expect(found !== null).toBe(applies);
  });

  test('of several the strictest counts', () => {
    const older = (id: string, minAgeDays: number) => ({
      ...{ ...DOCKER, id, minAgeDays, rule: 'allow_older_than' as const },
    });
    const found = (...some: Registration[]) => registrationFor('apt', ACTION, some)?.id;
    expect(found(DOCKER, older('3', 3), older('9', 9))).toBe('9');
    expect(found(older('9', 9), { ...DOCKER, id: 'ask', rule: 'ask' }, DOCKER)).toBe('ask');
  });

  test('suites lose the version of a point release alone', () => {
    expect(
      ['Debian:12.6/stable', 'Docker CE:bookworm', '12/stable', 'a:stable/updates'].map((one) =>
        suiteOf('apt', one),
      ),
    ).toEqual(['Debian:stable', 'Docker CE:bookworm', 'stable', 'a:stable/updates']);
    expect(suiteOf('dnf', 'a:9/b')).toBe('a:9/b');
  });
});

describe('how a package stands', () => {
  const older = { rule: 'allow_older_than', minAgeDays: 3 } as const;
  test.each<
    [
      string,
      Partial<Registration> | null,
      { seen?: number | null; others?: string[] },
      OriginFact['standing'],
    ]
  >([
    ['not registered', null, {}, 'not_registered'],
    ['ask', { rule: 'ask' }, {}, 'asks'],
    ['allow', {}, {}, 'allowed'],
    ['older than three days: exactly', older, { seen: NOW - 3 * DAY_MS }, 'allowed'],
    ['older than three days: a millisecond less', older, { seen: NOW - 3 * DAY_MS + 1 }, 'too_young'],
    ['older than three days: never seen', older, { seen: null }, 'too_young'],
    ['older than three days: from the future', older, { seen: NOW + 9 * DAY_MS }, 'too_young'],
    ['another host has the file from elsewhere', {}, { others: ['Evil:x'] }, 'disputed'],
    ['another host has it from another suite of the vendor', {}, { others: ['Docker CE:trixie'] }, 'allowed'],
    ['a dispute comes before age', older, { others: ['Debian:12/stable'], seen: 0 }, 'disputed'],
  ])('%s', (_what, registration, { seen = null, others = [] }, standing) => {
    const given = {
      registration: registration && { ...DOCKER, ...registration },
      claims: { firstSeenAtMs: seen, origins: others },
      nowMs: NOW,
    };
    expect(originFact('apt', ACTION, given).standing).toBe(standing);
  });

  test('a host that does not name the key has none registered', () => {
    const claims = { firstSeenAtMs: null, origins: [] };
    const { origin_key: _, ...bare } = ACTION;
    expect(originFact('apt', bare, { registration: DOCKER, claims, nowMs: NOW }).standing).toBe(
      'key_unknown',
    );
  });
});

describe('a closure passes', () => {
  const fact = (standing: OriginFact['standing']): OriginFact => ({
    ...{ package: 'a', version: '1', arch: null, origin: 'x', key: KEY, standing },
    ...{ registration: null, firstSeenAtMs: null },
  });
  const many = (n: number) => Array.from({ length: n }, () => fact('allowed'));
  test.each<[string, OriginFact[], number, boolean]>([
    ['one allowed', [fact('allowed')], 1, true],
    ['none', [], 0, false],
    ['one of two asks', [fact('allowed'), fact('asks')], 2, false],
    ['another package is uncovered for another reason', [fact('allowed')], 2, false],
    ['as many as one closure may have', many(ORIGIN_USES_MAX), ORIGIN_USES_MAX, true],
    ['one more', many(ORIGIN_USES_MAX + 1), ORIGIN_USES_MAX + 1, false],
    ...(['too_young', 'disputed', 'not_registered', 'key_unknown'] as const).map(
      (standing): [string, OriginFact[], number, boolean] => [standing, [fact(standing)], 1, false],
    ),
  ])('%s', (_what, items, uncovered, passes) => {
    expect(originsAllow({ items, uncovered })).toBe(passes);
  });
});
