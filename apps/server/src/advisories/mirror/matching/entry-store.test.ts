import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../../testing/engines.ts';
import { insertRecords } from '../store.ts';
import { createEntryReader, partsOf, saidOf } from './entry-store.ts';

describe.each(ENGINES)('entries of the mirror, on $name', (engine) => {
  test('are read by name, exactly as stored, without those of another load or name', async () => {
    const database = await engine.open();
    const openssl = { name: 'openssl', rangesJson: '[{"events":[]}]', versionsJson: '["1\\n2","é"]' };
    const entries = [
      { ...openssl, eco: 'Debian:12' },
      { ...openssl, eco: 'De\nbian' },
      { ...openssl, name: 'zlib', eco: 'Debian:12' },
    ];
    const record = { id: 'A', modified: '', modifiedMs: 0, record: '{}', fault: null, isWhole: true };
    await database.transact(async (tx) => {
      await insertRecords(tx, { loadId: 1, records: [{ ...record, entries }] });
      await insertRecords(tx, { loadId: 2, records: [{ ...record, id: 'B', entries }] });
    });
    const read = await createEntryReader(database)({ loadId: 1, names: ['openssl', 'absent'] });
    expect([...read.keys()]).toEqual(['openssl', 'absent']);
    expect(read.get('absent')).toEqual([]);
    const found = read.get('openssl')?.map(({ id, said }) => ({ id, ...partsOf(said) })) ?? [];
    const { rangesJson, versionsJson } = openssl;
    expect(found.toSorted((a, b) => a.eco.length - b.eco.length)).toEqual([
      { id: 'A', eco: 'De\nbian', rangesJson, versionsJson },
      { id: 'A', eco: 'Debian:12', rangesJson, versionsJson },
    ]);
  });
});

test('the parts of an entry survive joining and splitting', () => {
  fc.assert(
    fc.property(fc.string(), fc.json(), fc.json(), (eco, rangesJson, versionsJson) => {
      expect(partsOf(saidOf({ eco, rangesJson, versionsJson }))).toEqual({ eco, rangesJson, versionsJson });
    }),
  );
});
