import { describe, expect, test } from 'vitest';
import { type EntryOf, saidOf } from './entry-store.ts';
import { createGroups } from './match-entries.ts';

const SUBJECT = { ecosystem: 'Debian:12', name: 'openssl', version: '3.0.11-1' };

interface Fields {
  id?: string;
  eco?: string;
  fixed?: string;
  rangesJson?: string;
  versionsJson?: string;
}

function entry({ id = 'DSA-1', eco = 'Debian:12', fixed = '3.0.12-1', ...rest }: Fields = {}): EntryOf {
  const rangesJson = JSON.stringify([{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed }] }]);
  return { id, said: saidOf({ eco, rangesJson, versionsJson: '[]', ...rest }) };
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

  test('are parsed separately for hosts of two releases', () => {
    const group = createGroups().put('s', 'openssl', [entry(), entry({ id: 'C', eco: 'Debian:11' })]);
    expect(group.match(SUBJECT).ids).toEqual(['DSA-1']);
    expect(group.match({ ...SUBJECT, ecosystem: 'Debian:11' }).ids).toEqual(['C']);
  });

  test.each([
    ['ranges that cannot be read', { rangesJson: 'null' }],
    ['ranges that are invalid JSON', { rangesJson: '[{' }],
    ['versions that cannot be read', { versionsJson: '{}' }],
    ['an event whose version cannot be ordered', { fixed: 'no version' }],
  ])('with %s are undecidable, in addition to what is found', (_, fields) => {
    expect(match(entry(fields))).toEqual({ ids: [], undecidable: true });
    expect(match(entry({ ...fields, id: 'X' }), entry())).toEqual({ ids: ['DSA-1'], undecidable: true });
  });

  test('are not found under another snapshot, where only changed entries are parsed again', () => {
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

  test('are cached up to a bound, least recently used dropped first', () => {
    const groups = createGroups({ most: 4 });
    for (const name of ['a', 'b', 'c']) groups.put('s', name, [entry()]);
    expect(groups.find('s', 'a')).not.toBeNull();
    for (const name of ['d', 'e']) groups.put('s', name, [entry()]);
    expect(groups.size()).toBeLessThanOrEqual(4);
    expect(groups.find('s', 'b')).toBeNull();
    expect(groups.find('s', 'e')).not.toBeNull();
  });
});
