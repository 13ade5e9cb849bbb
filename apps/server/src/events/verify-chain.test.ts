import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chainOf, pinOf, sealed } from '../testing/event-chains.ts';
import type { ChainHead, EventRow } from './store.ts';
import { type ChainFault, type ChainStart, createChainVerifier, type Pin } from './verify-chain.ts';

function at(rows: readonly EventRow[], position: number): EventRow {
  const row = rows.find((each) => each.position === position);
  if (!row) throw new Error(`no row ${position}`);
  return row;
}

function headOf(rows: readonly EventRow[]): ChainHead | null {
  const last = rows.at(-1);
  return last ? { position: last.position, hash: last.hash } : null;
}

interface Walk {
  rows: readonly EventRow[];
  head?: ChainHead | null;
  pins?: readonly Pin[];
  start?: ChainStart;
  epoch?: number;
}

function walk({
  rows,
  head = headOf(rows),
  pins = [],
  start = { position: 0, hash: null },
  epoch = 0,
}: Walk) {
  const verifier = createChainVerifier({ start, epoch, pins });
  for (const row of rows) {
    const fault = verifier.take(row);
    if (fault) return fault;
  }
  return verifier.end(head);
}

function short(fault: ChainFault | null) {
  return fault && [fault.kind, fault.position];
}

const genuine = chainOf(9);
const all = [1, 2, 3, 4, 5, 6, 7, 8, 9];

describe('a chain of nine events (RT25)', () => {
  test('an untouched chain has no fault, with every pin', () => {
    expect(walk({ rows: genuine, pins: genuine.map((row) => pinOf(row)) })).toBeNull();
    expect(walk({ rows: [], head: null })).toBeNull();
  });

  const renumbered = (rows: EventRow[]) => rows.map((row, i) => ({ ...row, position: i + 1 }));
  const without5 = genuine.filter((row) => row.position !== 5);
  const forged = { ...at(genuine, 5), id: 'forged', content: '{"forged":true}' };
  const with5Forged = [...genuine.slice(0, 4), sealed(forged), ...genuine.slice(4)];
  const swapped = all.map((n) => at(genuine, n === 4 ? 5 : n === 5 ? 4 : n));
  const anew = chainOf(9, { 5: { content: '{"other":true}' } });
  const relinked = genuine.map((row) => (row.position === 5 ? sealed({ ...row, content: '{}' }) : row));

  test.each<[string, Walk, unknown]>([
    ['a row removed', { rows: without5 }, ['removed', 5]],
    ['several rows removed', { rows: [...genuine.slice(0, 2), ...genuine.slice(6)] }, ['removed', 3]],
    ['the first row removed', { rows: genuine.slice(1) }, ['removed', 1]],
    ['a row removed and the rest renumbered', { rows: renumbered(without5) }, ['moved', 5]],
    ['two rows reordered', { rows: renumbered(swapped) }, ['moved', 4]],
    ['two rows reordered with their positions', { rows: swapped }, ['removed', 4]],
    ['the same row twice', { rows: [...genuine.slice(0, 5), ...genuine.slice(4)] }, ['moved', 5]],
    ['a row put in and the rest renumbered', { rows: renumbered(with5Forged) }, ['moved', 6]],
    ['a row put in behind the head', { rows: genuine, head: headOf(genuine.slice(0, 8)) }, ['inserted', 9]],
    ['a row changed with its hash', { rows: relinked }, ['unlinked', 6]],
    [
      'the last row changed with its hash',
      { rows: relinked.slice(0, 5), head: headOf(genuine.slice(0, 5)) },
      ['rewritten', 5],
    ],
    ['the end cut off', { rows: genuine.slice(0, 7), head: headOf(genuine) }, ['truncated', 8]],
    ['everything cut off', { rows: [], head: headOf(genuine) }, ['truncated', 1]],
    [
      'the end cut off with the head',
      { rows: genuine.slice(0, 7), pins: [pinOf(at(genuine, 8))] },
      ['truncated', 8],
    ],
    [
      'the end cut off with head, behind the pin',
      { rows: genuine.slice(0, 8), pins: [pinOf(at(genuine, 8))] },
      null,
    ],
    ['everything from row 5 rewritten', { rows: anew, pins: [pinOf(at(genuine, 7))] }, ['rewritten', 7]],
    ['everything from row 5 rewritten, without a pin', { rows: anew }, null],
  ])('%s', (_, given, expected) => {
    expect(short(walk(given))).toEqual(expected);
  });

  test('any member of any row changed: the row is named', () => {
    const texts = ['id', 'kind', 'type', 'severity', 'component', 'agent_id', 'actor', 'content'] as const;
    const members = [...texts, 'previous_hash', 'hash', 'created_at'] as const;
    const any = fc.tuple(fc.constantFrom(...all), fc.constantFrom(...members), fc.string());
    fc.assert(
      fc.property(any, ([position, member, text]) => {
        const value = member === 'created_at' ? 7 : `${text}!`;
        const rows = genuine.map((row) => (row.position === position ? { ...row, [member]: value } : row));
        expect(short(walk({ rows, head: headOf(genuine) }))).toEqual(['changed', position]);
      }),
    );
  });

  test('the sentence names the last checkpoint that matched', () => {
    const pins = [pinOf(at(genuine, 3)), pinOf(at(genuine, 8))];
    expect(walk({ rows: anew, pins })?.detail).toBe(
      'checkpoint 8 names another row at this position: this row, or an earlier one after position 3, was rewritten',
    );
  });

  test('a pruned log starts at its anchor, and at no other position', () => {
    const rows = genuine.slice(4);
    const anchor = headOf(genuine.slice(0, 4)) ?? { position: 0, hash: null };
    expect(walk({ rows, start: anchor, pins: genuine.map((row) => pinOf(row)) })).toBeNull();
    expect(short(walk({ rows, start: { ...anchor, hash: 'ab' } }))).toEqual(['unlinked', 5]);
    expect(short(walk({ rows, start: { position: 3, hash: 'ab' } }))).toEqual(['removed', 4]);
  });

  describe('after a restore from backup, the last row of which is 4', () => {
    const restored = chainOf(6, { 5: { type: 'RESTORE_DETECTED', content: '{"epoch":2}' } });
    const abandoned = [5, 6, 7].map((position) => pinOf(at(genuine, position)));
    const old4 = { ...pinOf(at(genuine, 4)), hash: 'ab' };
    const new6 = pinOf(at(restored, 6), 2);

    test.each<[string, Pin[], unknown]>([
      ['pins of the branch that was left do not count', [...abandoned, new6], null],
      ['also where nothing but they is beyond the end', [...abandoned.slice(2), new6], null],
      ['they do where no pin is from the new epoch', abandoned, ['rewritten', 5]],
      ['pins from before it do', [old4, new6], ['rewritten', 4]],
      ['pins of the new epoch do', [{ ...pinOf(at(genuine, 6)), epoch: 2 }], ['rewritten', 6]],
      ['pins of no known epoch do', [{ ...pinOf(at(genuine, 5)), epoch: null }, new6], ['rewritten', 5]],
    ])('%s', (_, pins, expected) => {
      const sorted = pins.toSorted((a, b) => a.position - b.position);
      expect(short(walk({ rows: restored, pins: sorted }))).toEqual(expected);
    });

    test.each<[string, number, unknown]>([
      ['the signed epoch of the anchor says that they do not count', 2, null],
      ['they count from an anchor of their epoch', 1, ['rewritten', 6]],
    ])('where the row that records it was removed, %s', (_, epoch, expected) => {
      const start = headOf(restored.slice(0, 5)) ?? { position: 0, hash: null };
      const rows = restored.slice(5);
      expect(short(walk({ rows, start, epoch, pins: abandoned.slice(1) }))).toEqual(expected);
    });
  });
});
