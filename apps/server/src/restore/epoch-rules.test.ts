import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type DatabaseFacts, judgeEpoch, type Memory } from './epoch-rules.ts';

const MEMORY: Memory = { fleetId: 'f', epoch: 3, mark: 10, eventsPosition: 100, eventsHash: 'h100' };
const DATABASE: DatabaseFacts = {
  fleetId: 'f',
  epoch: 3,
  mark: 10,
  eventsPosition: 100,
  hashAtMemory: 'h100',
  isRestored: false,
  liveServers: 0,
};
const FORGOTTEN = null;

describe('T20: a database that was put back is told from one that went on', () => {
  test.each<[string, Partial<Memory> | null, Partial<DatabaseFacts>, object]>([
    ['the first start', FORGOTTEN, { fleetId: null, epoch: 0, mark: 0 }, { kind: 'first' }],
    ['as it was left', {}, {}, { kind: 'same', epoch: 3 }],
    [
      'it went on without a word to the file',
      {},
      { mark: 12, eventsPosition: 140 },
      { kind: 'same', epoch: 3 },
    ],
    ['the event is pruned', {}, { eventsPosition: 900, hashAtMemory: null }, { kind: 'same', epoch: 3 }],
    ['the first start was cut short', FORGOTTEN, { epoch: 1, mark: 0 }, { kind: 'same', epoch: 1 }],
    ['by the command', {}, { isRestored: true }, { kind: 'restored', epoch: 4, sign: 'restore_command' }],
    [
      'by the command, over another epoch',
      {},
      { isRestored: true, epoch: 9 },
      { kind: 'restored', epoch: 10, sign: 'restore_command' },
    ],
    [
      'the database is gone',
      {},
      { fleetId: null, epoch: 0, mark: 0 },
      { kind: 'restored', epoch: 4, sign: 'empty_database' },
    ],
    [
      'a new machine, or the file is lost',
      FORGOTTEN,
      {},
      { kind: 'restored', epoch: 4, sign: 'no_epoch_file' },
    ],
    ['a new replica among others', FORGOTTEN, { liveServers: 1 }, { kind: 'adopted', epoch: 3 }],
    ['of another fleet', { fleetId: 'g' }, {}, { kind: 'restored', epoch: 4, sign: 'other_fleet' }],
    ['the file is ahead', {}, { epoch: 2 }, { kind: 'restored', epoch: 4, sign: 'lower_epoch' }],
    ['fewer marks', {}, { mark: 9 }, { kind: 'restored', epoch: 4, sign: 'older_state' }],
    ['fewer events', {}, { eventsPosition: 99 }, { kind: 'restored', epoch: 4, sign: 'older_state' }],
    [
      'as many events, but others',
      {},
      { eventsPosition: 120, hashAtMemory: 'x' },
      { kind: 'restored', epoch: 4, sign: 'other_history' },
    ],
    [
      'another replica saw it first',
      {},
      { epoch: 4, mark: 2, eventsPosition: 7 },
      { kind: 'adopted', epoch: 4 },
    ],
  ])('%s', (_, memory, database, verdict) => {
    const remembered = memory === null ? null : { ...MEMORY, ...memory };
    expect(judgeEpoch(remembered, { ...DATABASE, ...database })).toEqual(verdict);
  });
});

test('replicas that restart repeatedly after one restore raise the epoch once for each higher one', () => {
  const epochOf = fc.integer({ min: 0, max: 4 });
  const epochs = fc.array(epochOf, { minLength: 2, maxLength: 6 });
  fc.assert(
    fc.property(epochs, epochOf, fc.array(fc.nat(), { maxLength: 40 }), (remembered, restoredTo, order) => {
      const replicas = remembered.map((epoch): Memory => ({ ...MEMORY, epoch }));
      let epoch = restoredTo;
      let raised = 0;
      for (const n of [...replicas.keys(), ...order]) {
        const i = n % replicas.length;
        const memory = replicas[i];
        if (!memory) throw new Error('the index is within the list');
        const verdict = judgeEpoch(memory, { ...DATABASE, epoch });
        if (verdict.kind === 'restored') raised++;
        if (verdict.kind !== 'first') epoch = verdict.epoch;
        replicas[i] = { ...memory, epoch };
      }
      expect(raised).toBeLessThanOrEqual(new Set(remembered.filter((one) => one > restoredTo)).size);
      expect(epoch).toBeGreaterThanOrEqual(Math.max(...remembered, restoredTo));
    }),
  );
});
