import { describe, expect, test } from 'vitest';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import {
  findApprovalOfUpdate,
  findLiveApproval,
  liveTokensOf,
  storedApproval,
  updatesOfTokens,
  voidTokens,
} from './store.ts';

const EXPIRES_AT_MS = Date.UTC(2099, 0);
const BEFORE_MS = EXPIRES_AT_MS - 1;

describe.each(ENGINES)('approval tokens on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const update = { agentId, n: 1, state: 'approved', expiresAtMs: EXPIRES_AT_MS };
    const { updateId, approval } = await insertTestUpdate(database, update);
    return { database, agentId, updateId, tokenId: approval.tokenId };
  }

  test.each([
    ['handed out to its own agent before it expires', { isOwn: true, nowMs: BEFORE_MS, isFound: true }],
    ['not handed out once it has expired', { isOwn: true, nowMs: EXPIRES_AT_MS, isFound: false }],
    ['not handed out to another agent', { isOwn: false, nowMs: BEFORE_MS, isFound: false }],
  ])('a token is %s', async (_, { isOwn, nowMs, isFound }) => {
    const { database, agentId, tokenId } = await setUp();
    const other = (await insertTestAgent(database, { n: 2 })).agentId;
    const found = await findLiveApproval(database.read, { tokenId, agentId: isOwn ? agentId : other, nowMs });
    expect(found?.token_id).toBe(isFound ? tokenId : undefined);
  });

  test('a void token is delivered to nobody, and keeps the reason of its first voiding', async () => {
    const { database, agentId, updateId, tokenId } = await setUp();
    for (const [nowMs, reason] of [
      [1, 'command_cancelled'],
      [2, 'closed_by_scan'],
    ] as const) {
      await database.transact((tx) => voidTokens(tx, { tokenIds: [tokenId], reason, nowMs }));
    }
    const { read } = database;
    expect(await findLiveApproval(read, { tokenId, agentId, nowMs: BEFORE_MS })).toBeNull();
    expect(await findApprovalOfUpdate(read, { updateId, nowMs: BEFORE_MS })).toBeNull();
    expect(await read.selectFrom('approvals').select(['voided_at', 'void_reason']).execute()).toEqual([
      { voided_at: 1, void_reason: 'command_cancelled' },
    ]);
    // Whoever uses a stored envelope must verify its signature.
    expect(await database.transact((tx) => storedApproval(tx, tokenId))).not.toBeNull();
  });

  test('a token of several updates is one: found by each, and void for all', async () => {
    const { database, agentId, updateId, tokenId } = await setUp();
    const second = { agentId, n: 2, state: 'approved', expiresAtMs: EXPIRES_AT_MS };
    const { updateId: other } = await insertTestUpdate(database, { ...second, hasApproval: false });
    await database.transact((tx) =>
      tx.insertInto('approval_updates').values({ token_id: tokenId, update_id: other }).execute(),
    );
    const { read } = database;
    expect(await liveTokensOf(read, [other])).toEqual([tokenId]);
    expect(await liveTokensOf(read, [updateId, other])).toEqual([tokenId]);
    expect(await updatesOfTokens(read, [tokenId])).toEqual([updateId, other]);
    expect(await findApprovalOfUpdate(read, { updateId: other, nowMs: BEFORE_MS })).toMatchObject({
      token_id: tokenId,
    });
    await database.transact((tx) => voidTokens(tx, { tokenIds: [tokenId], reason: 'taken_back', nowMs: 1 }));
    expect(await liveTokensOf(read, [updateId, other])).toEqual([]);
    expect(await findApprovalOfUpdate(read, { updateId: other, nowMs: BEFORE_MS })).toBeNull();
    expect(await updatesOfTokens(read, [tokenId])).toEqual([updateId, other]);
  });

  test('the database refuses a second live token for an update', async () => {
    const { database, agentId, updateId } = await setUp();
    const second = { agentId, n: 2, state: 'approved', expiresAtMs: EXPIRES_AT_MS };
    const { approval } = await insertTestUpdate(database, second);
    const name = () =>
      database.transact((tx) =>
        tx
          .insertInto('approval_updates')
          .values({ token_id: approval.tokenId, update_id: updateId })
          .execute(),
      );
    await expect(name()).rejects.toThrow(/unique/i);
    expect(await updatesOfTokens(database.read, [approval.tokenId])).not.toContain(updateId);
  });
});
