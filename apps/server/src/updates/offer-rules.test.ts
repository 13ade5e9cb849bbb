import { OFFERS } from '@tidegate/protocol/offers';
import { changeOf, isWithin, MAX_CHANGES } from '@tidegate/versions/change';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  offerBits,
  offersOf,
  RECOMMENDED_HERE,
  recommend,
  recommendedBit,
  rescanned,
} from './offer-rules.ts';

/** Open versions of a package that is installed in 1.2.3; `fix:` before the smallest fix, `state` behind a space. */
function versionsOf(...texts: string[]) {
  return texts.map((text) => {
    const [version = '', state = 'pending'] = text.replace('fix:', '').split(' ');
    return {
      ...{ id: version, ecosystem: 'npm', available_version: version, state },
      offers: offerBits(text.startsWith('fix:') ? ['smallest_fix'] : ['newest']),
      change: changeOf('npm', { from: '1.2.3', to: version }),
    };
  });
}

const here = (bits: ReadonlyMap<string, number>, bit = RECOMMENDED_HERE) =>
  [...bits].filter(([, value]) => (value & bit) !== 0).map(([id]) => id);

test.each([
  ['any', ['1.9.2', '3.0.0'], '3.0.0'],
  ['minor', ['1.9.2', '3.0.0'], '1.9.2'],
  ['patch', ['1.9.2', '3.0.0'], '1.9.2'], // nothing is within it: the smallest change
  ['patch', ['1.2.9', '1.9.2', '3.0.0'], '1.2.9'],
  ['any', ['fix:1.2.4', '1.9.2', '3.0.0'], '3.0.0'],
  ['patch', ['1.2.4', 'fix:1.4.9', '1.9.2', '3.0.0'], '1.4.9'], // what is known comes before the setting
  ['minor', ['1.9.2', 'fix:2.1.0', '3.0.0'], '2.1.0'],
  ['any', ['1.9.2', '3.0.0 rejected'], '1.9.2'],
  ['any', ['1.9.2', '3.0.0 failed'], '1.9.2'],
  ['minor', ['3.0.0'], '3.0.0'],
] as const)('at most %s, of %j %s is recommended', (max, texts, expected) => {
  expect(here(recommend(versionsOf(...texts), max))).toEqual([expected]);
});

test('of versions that were all refused none is recommended', () => {
  expect(here(recommend(versionsOf('1.9.2 rejected', '3.0.0 failed'), 'any'))).toEqual([]);
});

test('under each filter it is the newest version within it, and none where none is', () => {
  const bits = recommend(versionsOf('1.9.2', '3.0.0'), 'any');
  expect(MAX_CHANGES.map((max) => here(bits, recommendedBit(max)))).toEqual([[], ['1.9.2'], ['3.0.0']]);
});

const version = fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)).map((parts) => parts.join('.'));

test('whatever is offered, there is one recommended version, and it never ends below the fix', () => {
  const some = fc.uniqueArray(version, { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(some, fc.nat(5), fc.constantFrom(...MAX_CHANGES), (all, at, max) => {
      const versions = versionsOf(...all.map((one, i) => (i === at ? `fix:${one}` : one)));
      const [only, ...others] = here(recommend(versions, max));
      expect(others).toEqual([]);
      const fix = all[at];
      if (fix !== undefined) expect(only?.localeCompare(fix, 'en', { numeric: true })).not.toBe(-1);
      const chosen = versions.find(({ id }) => id === only);
      if (fix === undefined && versions.some(({ change }) => isWithin(max, change)))
        expect(isWithin(max, chosen?.change ?? null)).toBe(true);
    }),
  );
});

describe('the stored form of offers', () => {
  test('is read back', () => {
    fc.assert(
      fc.property(fc.subarray([...OFFERS]), (offers) => {
        expect(offersOf(offerBits(offers))).toEqual(offers);
      }),
    );
  });

  test('keeps through a scan that it is the smallest fix, which hosts do not know, and nothing else', () => {
    const after = rescanned(offerBits(['newest', 'smallest_fix']), offerBits(['series']));
    expect(offersOf(after)).toEqual(['series', 'smallest_fix']);
    expect(offersOf(rescanned(offerBits(['newest']), offerBits(['series'])))).toEqual(['series']);
  });
});
