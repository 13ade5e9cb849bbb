import { CANDIDATES_MAX } from '@tidegate/protocol/offers';
import { compareVersions } from '@tidegate/versions';
import { changeOf } from '@tidegate/versions/change';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseOffers } from './offers-rules.ts';

const NPM = ['1.2.3', '1.2.4', '1.3.0', '1.3.0-rc.1', '2.0.0', '0.9.0', '3.1.0', 'odd'];

test.each([
  ['npm', '1.2.3', '2.0.0', NPM, ['1.3.0 series', '2.0.0 newest']],
  ['npm', '1.2.3', '1.3.0', NPM, ['1.3.0 series,newest']],
  ['npm', '2.0.0', '3.1.0', NPM, ['3.1.0 newest']],
  ['npm', '3.1.0', '2.0.0', NPM, []],
  ['npm', '0.3.1', '0.4.0', ['0.3.2', '0.4.0'], ['0.3.2 series', '0.4.0 newest']],
  ['npm', 'odd', '2.0.0', NPM, []],
  ['pypi', '1.4', '3.0', ['1.4.1', '1.9.2', '2.0', '1.10'], ['1.10 series', '3.0 newest']],
  ['pypi', '1.4', '1!0.1', ['1.5', '2.0'], ['1.5 series', '1!0.1 newest']],
] as const)(
  'of %s %s the newest being %s, among %j: %j',
  (ecosystem, current, newest, versions, expected) => {
    const offered = chooseOffers(ecosystem, { current, newest, versions });
    expect(offered.map(({ version, offers }) => `${version} ${offers}`)).toEqual(expected);
  },
);

test('the candidates come with the newest, the nearest first, and those that cannot be installed are none', () => {
  const versions = ['1.0.0', '2.0.0', '1.5.0', '1.1.0', '4.0.0'];
  const isCandidate = (version: string) => version !== '1.5.0';
  const offered = chooseOffers('npm', { current: '1.0.0', newest: '3.0.0', versions, isCandidate });
  expect(offered).toEqual([
    { version: '1.5.0', offers: ['series'] },
    { version: '3.0.0', offers: ['newest'], candidates: ['1.1.0', '2.0.0', '3.0.0'] },
  ]);
});

test('of many candidates only the nearest are named, and those that are offered', () => {
  const versions = Array.from({ length: 500 }, (_, i) => `1.0.${500 - i}`);
  const [, newest] = chooseOffers('npm', { current: '1.0.0', newest: '2.0.0', versions });
  expect(newest?.candidates).toHaveLength(CANDIDATES_MAX);
  const near = Array.from({ length: CANDIDATES_MAX - 2 }, (_, i) => `1.0.${i + 1}`);
  expect(newest?.candidates).toEqual([...near, '1.0.500', '2.0.0']);
});

const number = fc.nat({ max: 4 });
const version = fc.tuple(number, number, number).map((parts) => parts.join('.'));

test.each(['npm', 'pypi'] as const)(
  '%s: whatever a registry has, offers are newer and ordered',
  (ecosystem) => {
    fc.assert(
      fc.property(version, version, fc.array(version), (current, newest, versions) => {
        const offered = chooseOffers(ecosystem, { current, newest, versions });
        const names = offered.map((one) => one.version);
        expect(new Set(names).size).toBe(names.length);
        for (const one of names) expect(compareVersions(ecosystem, current, one)).toBe(-1);
        expect(offered.flatMap(({ offers }) => offers)).toHaveLength(
          new Set(offered.flatMap(({ offers }) => offers)).size,
        );
        const series = offered.find(({ offers }) => offers.includes('series'))?.version;
        const better = versions.filter(
          (one) =>
            changeOf(ecosystem, { from: current, to: one }) !== 'major' &&
            compareVersions(ecosystem, one, newest) !== 1 &&
            compareVersions(ecosystem, one, series ?? current) === 1,
        );
        expect(better).toEqual([]);
      }),
    );
  },
);
