import { describe, expect, test } from 'vitest';
import { createGroups } from './match-entries.ts';
import type { EntryOf } from './store.ts';

const SUBJECT = { ecosystem: 'Debian:12', name: 'openssl', version: '3.0.11-1' };

function entry(fields: Partial<EntryOf> & { fixed?: string } = {}): EntryOf {
  const { fixed = '3.0.12-1', ...rest } = fields;
  const ranges = [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed }] }];
  return {
    ...{ id: 'DSA-1', eco: 'Debian:12', name: 'openssl' },
    ...{ ranges_json: JSON.stringify(ranges), versions_json: '[]', ...rest },
  };
}

function match(...entries: EntryOf[]) {
  return createGroups().put('s', 'openssl', entries).match(SUBJECT);
}

describe('entries of the mirror', () => {
  test('affect by their own release or a bare ecosystem, each advisory once', () => {
    const entries = [
      entry({ id: 'B' }),
      entry({ id: 'A', eco: 'Debian' }),
      entry({ id: 'A', eco: 'Debian' }),
      entry({ id: 'C', eco: 'Debian:11' }),
      entry({ id: 'D', fixed: '3.0.11-1' }),
    ];
    expect(match(...entries)).toEqual({ ids: ['A', 'B'], undecidable: false });
  });

  test('are read apart for hosts of two releases', () => {
    const group = createGroups().put('s', 'openssl', [entry(), entry({ id: 'C', eco: 'Debian:11' })]);
    expect(group.match(SUBJECT).ids).toEqual(['DSA-1']);
    expect(group.match({ ...SUBJECT, ecosystem: 'Debian:11' }).ids).toEqual(['C']);
  });

  test.each([
    ['ranges that cannot be read', { ranges_json: 'null' }],
    ['ranges that are no JSON any more', { ranges_json: '[{' }],
    ['versions that cannot be read', { versions_json: '{}' }],
    ['an event without a place in the order', { fixed: 'no version' }],
  ])('with %s are undecidable, beside what is found', (_, fields) => {
    expect(match(entry(fields))).toEqual({ ids: [], undecidable: true });
    expect(match(entry({ ...fields, id: 'X' }), entry())).toEqual({ ids: ['DSA-1'], undecidable: true });
  });

  test('are not found under another snapshot; what is the same there is not read anew, what changed is', () => {
    const groups = createGroups();
    const first = groups.put('one', 'openssl', [entry({ fixed: '3.0.10-1' })]);
    expect(groups.find('one', 'openssl')).toBe(first);
    expect(groups.find('two', 'openssl')).toBeNull();
    expect(groups.put('two', 'openssl', [entry({ fixed: '3.0.10-1' })])).toBe(first);
    expect(groups.find('two', 'openssl')).toBe(first);
    expect(groups.put('three', 'openssl', [entry()]).match(SUBJECT).ids).toEqual(['DSA-1']);
    expect(groups.find('three', 'openssl')?.match(SUBJECT).ids).toEqual(['DSA-1']);
    expect(groups.size()).toBe(1);
  });

  test('are kept ready up to a bound, what was not asked for since goes first', () => {
    const groups = createGroups({ most: 4 });
    for (const name of ['a', 'b', 'c']) groups.put('s', name, [entry({ name })]);
    expect(groups.find('s', 'a')).not.toBeNull();
    for (const name of ['d', 'e']) groups.put('s', name, [entry({ name })]);
    expect(groups.size()).toBeLessThanOrEqual(4);
    expect(groups.find('s', 'b')).toBeNull();
    expect(groups.find('s', 'e')).not.toBeNull();
  });
});
