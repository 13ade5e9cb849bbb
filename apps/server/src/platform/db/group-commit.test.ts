import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createGroupCommit, GROUP_MAX, GroupLost, type Member } from './group-commit.ts';

/** A connection that records its statements and fails at the given ones; `lost` also ends the transaction. */
function setUp(failing: { at?: string; lost?: boolean } = {}) {
  const said: string[] = [];
  let isOpen = false;
  function exec(statement: string): void {
    said.push(statement);
    if (statement === failing.at) {
      if (failing.lost) isOpen = false;
      throw new Error(`no ${statement}`);
    }
    if (statement.startsWith('BEGIN')) isOpen = true;
    if (statement === 'COMMIT' || statement === 'ROLLBACK') isOpen = false;
  }
  const group = createGroupCommit({ begin: async () => exec('BEGIN IMMEDIATE'), exec, isOpen: () => isOpen });
  /** What Kysely does around a transaction. */
  async function transact(name: string, work: (member: Member) => unknown = () => {}): Promise<string> {
    const member = await group.enter();
    try {
      await member.begin();
      try {
        said.push(name);
        await work(member);
        await member.commit();
        said.push(`${name} answered`);
        return name;
      } catch (error) {
        member.rollback();
        throw error;
      }
    } finally {
      member.leave();
    }
  }
  const fail = () => {
    throw new Error('wrong');
  };
  return { said, group, transact, fail, end: () => (isOpen = false) };
}

describe('write transactions of one turn of the event loop', () => {
  test('a single one begins and commits unchanged, and is answered after its commit', async () => {
    const { said, transact } = setUp();
    await transact('a');
    expect(said).toEqual(['BEGIN IMMEDIATE', 'a', 'COMMIT', 'a answered']);
  });

  test('several share one commit; none is answered before it (section 3)', async () => {
    const { said, transact } = setUp();
    await Promise.all([transact('a'), transact('b'), transact('c')]);
    expect(said).toEqual([
      'BEGIN IMMEDIATE',
      'a',
      ...['SAVEPOINT member', 'b', 'RELEASE member'],
      ...['SAVEPOINT member', 'c', 'RELEASE member'],
      'COMMIT',
      ...['a answered', 'b answered', 'c answered'],
    ]);
  });

  test('a failed one does not fail the others, whether it is the first or a later one', async () => {
    const { said, transact, fail } = setUp();
    const outcomes = await Promise.allSettled([
      transact('a', fail),
      transact('b'),
      transact('c', fail),
      transact('d'),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
    expect(said).toEqual([
      ...['BEGIN IMMEDIATE', 'a', 'ROLLBACK'],
      ...['BEGIN IMMEDIATE', 'b'],
      ...['SAVEPOINT member', 'c', 'ROLLBACK TO member', 'RELEASE member'],
      ...['SAVEPOINT member', 'd', 'RELEASE member'],
      ...['COMMIT', 'b answered', 'd answered'],
    ]);
  });

  test('a failed commit fails all of them and leaves nothing open; the next ones continue', async () => {
    const failing: { at?: string } = { at: 'COMMIT' };
    const { said, transact } = setUp(failing);
    const outcomes = await Promise.allSettled([transact('a'), transact('b')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(said.at(-1)).toBe('ROLLBACK');
    delete failing.at;
    await expect(transact('c')).resolves.toBe('c');
  });

  test('a fault that ended the transaction in one of them fails those that wait for the commit', async () => {
    const { said, transact, end } = setUp();
    const outcomes = await Promise.allSettled([
      transact('a'),
      transact('b', () => {
        end();
        throw new Error('disk is full');
      }),
      transact('c'),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'rejected', reason: expect.any(GroupLost) },
      { status: 'rejected', reason: { message: 'disk is full' } },
      { status: 'fulfilled' },
    ]);
    expect(said.slice(-4)).toEqual(['BEGIN IMMEDIATE', 'c', 'COMMIT', 'c answered']);
  });

  test('a group that cannot begin fails only that one', async () => {
    const failing: { at?: string } = { at: 'BEGIN IMMEDIATE' };
    const { transact } = setUp(failing);
    await expect(transact('a')).rejects.toThrow('no BEGIN IMMEDIATE');
    delete failing.at;
    await expect(transact('b')).resolves.toBe('b');
  });

  test('one that waits for something outside commits with the earlier ones, as soon as it is done', async () => {
    const { said, transact } = setUp();
    const { promise, resolve } = Promise.withResolvers<void>();
    const both = Promise.all([transact('a'), transact('b', () => promise)]);
    await turn();
    const late = transact('c');
    await turn();
    expect(said).toEqual(['BEGIN IMMEDIATE', 'a', 'SAVEPOINT member', 'b']);
    resolve();
    await Promise.all([both, late]);
    expect(said.slice(4)).toEqual([
      ...['RELEASE member', 'COMMIT', 'a answered', 'b answered'],
      ...['BEGIN IMMEDIATE', 'c', 'COMMIT', 'c answered'],
    ]);
  });

  test('a group has a maximum; the rest is the next group', async () => {
    const { said, transact } = setUp();
    await Promise.all(Array.from({ length: GROUP_MAX + 1 }, (_, i) => transact(`${i}`)));
    expect(said.filter((one) => one === 'COMMIT')).toHaveLength(2);
  });

  test('work outside of any transaction waits for the commit and keeps others out', async () => {
    const { said, group, transact } = setUp();
    const first = transact('a');
    const release = await group.alone();
    said.push('alone');
    const second = transact('b');
    await turn();
    release();
    await Promise.all([first, second]);
    expect(said).toEqual([
      ...['BEGIN IMMEDIATE', 'a', 'COMMIT', 'alone', 'a answered'],
      ...['BEGIN IMMEDIATE', 'b', 'COMMIT', 'b answered'],
    ]);
  });
});
