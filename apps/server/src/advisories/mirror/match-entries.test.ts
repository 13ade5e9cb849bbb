import { describe, expect, test } from 'vitest';
import { createMatcher } from './match-entries.ts';
import type { EntryOf } from './store.ts';

const SUBJECT = { ecosystem: 'Debian:12', name: 'openssl', version: '3.0.11-1' };

function entry(fields: Partial<EntryOf> & { fixed?: string } = {}): EntryOf {
  const { fixed = '3.0.12-1', ...rest } = fields;
  const ranges = [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed }] }];
  return {
    ...{ id: 'DSA-1', part: 0, eco: 'Debian:12', name: 'openssl' },
    ...{ ranges_json: JSON.stringify(ranges), versions_json: '[]', ...rest },
  };
}

describe('entries of the mirror', () => {
  test('affect by their own release or a bare ecosystem, each advisory once', () => {
    const { match } = createMatcher();
    const entries = [
      entry({ id: 'B' }),
      entry({ id: 'A', eco: 'Debian' }),
      entry({ id: 'A', eco: 'Debian', part: 1 }),
      entry({ id: 'C', eco: 'Debian:11' }),
      entry({ id: 'D', fixed: '3.0.11-1' }),
    ];
    expect(match(SUBJECT, entries)).toEqual({ ids: ['A', 'B'], undecidable: false });
  });

  test.each([
    ['ranges that cannot be read', { ranges_json: 'null' }],
    ['ranges that are no JSON any more', { ranges_json: '[{' }],
    ['versions that cannot be read', { versions_json: '{}' }],
    ['an event without a place in the order', { fixed: 'no version' }],
  ])('with %s are undecidable, beside what is found', (_, fields) => {
    const { match } = createMatcher();
    expect(match(SUBJECT, [entry(fields)])).toEqual({ ids: [], undecidable: true });
    expect(match(SUBJECT, [entry({ ...fields, id: 'X' }), entry()])).toEqual({
      ids: ['DSA-1'],
      undecidable: true,
    });
  });

  test('that changed are read anew, though they have the same id', () => {
    const { match } = createMatcher();
    expect(match(SUBJECT, [entry({ fixed: '3.0.10-1' })]).ids).toEqual([]);
    expect(match(SUBJECT, [entry()]).ids).toEqual(['DSA-1']);
  });

  test('are kept ready up to a bound, the least recently used go first', () => {
    const matcher = createMatcher({ most: 2 });
    const [a, b, c] = ['A', 'B', 'C'].map((id) => entry({ id }));
    if (!a || !b || !c) throw new Error('three');
    matcher.match(SUBJECT, [a, b]);
    matcher.match(SUBJECT, [a, c]);
    expect(matcher.size()).toBe(2);
    expect(matcher.match(SUBJECT, [a, b, c]).ids).toEqual(['A', 'B', 'C']);
    expect(matcher.size()).toBe(2);
  });
});
