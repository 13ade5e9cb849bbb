import { describe, expect, test } from 'vitest';
import type { Tx } from '../platform/db/engine.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertApiToken, markApiTokenRevoked, revokeTokensOf } from './store.ts';

const OPERATOR = '01900000-0000-7000-8000-000000000001';
const idOf = (n: number) => `01900000-0000-7000-9000-00000000000${n}`;

function insert(tx: Tx, n: number, operatorId = OPERATOR): Promise<unknown> {
  return insertApiToken(tx, {
    ...{ id: idOf(n), operator_id: operatorId, label: `label ${n}`, secret_hash: `hash-${n}` },
    ...{ role: 'viewer', groups: null, scopes: null, created_by: 'ada', created_at: 1, expires_at: 9 },
    ...{ last_used_at: null, revoked_at: null },
  });
}

describe.each(ENGINES)('T20: revocations of API tokens on $name', (engine) => {
  test('are passed to the journal once, in the revoking transaction', async () => {
    const database = await engine.open();
    await database.transact(async (tx) => {
      await insert(tx, 1);
      expect(await markApiTokenRevoked(tx, { id: idOf(1), atMs: 5 })).toBe(true);
      expect(await markApiTokenRevoked(tx, { id: idOf(1), atMs: 6 })).toBe(false);
      const noted = [{ kind: 'api_token', id: idOf(1), atMs: 5 }];
      expect(tx.context.revocations).toEqual(noted);
    });
  });

  test('of one operator are all passed on, and those of others stay unrevoked', async () => {
    const database = await engine.open();
    await database.transact(async (tx) => {
      for (const n of [1, 2, 3]) await insert(tx, n);
      await insert(tx, 4, idOf(9));
      await markApiTokenRevoked(tx, { id: idOf(3), atMs: 4 });
      tx.context.revocations.length = 0;
      expect(await revokeTokensOf(tx, { operatorId: OPERATOR, atMs: 5 })).toBe(2);
      expect(tx.context.revocations.map(({ id }) => id).sort()).toEqual([idOf(1), idOf(2)]);
    });
    const live = await database.read
      .selectFrom('api_tokens')
      .select('id')
      .where('revoked_at', 'is', null)
      .execute();
    expect(live).toEqual([{ id: idOf(4) }]);
  });
});
