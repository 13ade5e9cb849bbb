import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchesGlob, parseGlob } from './glob.ts';
import { globMatches } from './testing/naive.ts';

describe('globs of windows and webviews (R8)', () => {
  const part = fc.constantFrom(
    'a',
    'b',
    '/',
    '*',
    '?',
    '[ab]',
    '[!a]',
    '[a-b]',
    '**/',
    '/**/',
    '/**',
    'ü',
    '.',
  );
  const label = fc
    .array(fc.constantFrom('a', 'b', '/', 'ü', '😀', '.'), { maxLength: 8 })
    .map((parts) => parts.join(''));

  test('matching agrees with a naive matcher that tries every split', () => {
    const seen = { yes: 0, no: 0 };
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), label, (parts, text) => {
        const glob = parseGlob(parts.join(''));
        if (!glob.ok) return;
        const isMatch = matchesGlob(glob.glob, text);
        seen[isMatch ? 'yes' : 'no'] += 1;
        expect({ glob: parts.join(''), text, isMatch }).toEqual({
          ...{ glob: parts.join(''), text },
          isMatch: globMatches(parts.join(''), text),
        });
      }),
      { numRuns: 20_000 },
    );
    expect(Math.min(seen.yes, seen.no)).toBeGreaterThan(500);
  });

  test('any text is a glob or has a fault, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (source, text) => {
        const result = parseGlob(source);
        if (result.ok) matchesGlob(result.glob, text);
      }),
    );
  });

  test('a hostile glob takes steps per character, not per possible match', () => {
    const glob = parseGlob(`${'*a'.repeat(60)}b`);
    if (!glob.ok) throw new Error(glob.fault);
    expect(matchesGlob(glob.glob, 'a'.repeat(20_000))).toBe(false);
  });
});
