import { describe, expect, test } from 'vitest';
import type { GroupScope } from '../platform/db/group-scope.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { fixRank } from '../updates/queue-rules.ts';
import { countCriticalFixes } from './critical-fixes-store.ts';

describe.each(ENGINES)('critical fixes on $name', (engine) => {
  test('are counted as the list shows them, in parts that neither miss nor repeat one', async () => {
    const database = await engine.open();
    const { agentId: web } = await insertTestAgent(database, { n: 1, group: 'web' });
    const { agentId: db } = await insertTestAgent(database, { n: 2, group: 'db' });
    const { agentId: deleted } = await insertTestAgent(database, { n: 3, deletedAtMs: 1 });
    const critical = { fix_rank: fixRank({ fixes: 1, severity: 'critical', exploited: false }) };
    const exploited = { fix_rank: fixRank({ fixes: 1, severity: 'critical', exploited: true }) };
    const high = { fix_rank: fixRank({ fixes: 1, severity: 'high', exploited: true }) };
    const updates: [agentId: string, state: string, fields: object][] = [
      // Of the same moment: the id decides.
      ...Array.from({ length: 5 }, (): [string, string, object] => [web, 'pending', critical]),
      [web, 'pending', { ...critical, discovered_at: 9 }],
      [db, 'pending', exploited],
      [web, 'pending', high],
      [web, 'pending', { ...critical, recommended: 0 }],
      [web, 'installed', critical],
      [deleted, 'pending', critical],
    ];
    for (const [i, [agentId, state, fields]] of updates.entries()) {
      const { updateId } = await insertTestUpdate(database, { agentId, n: i + 1, state, expiresAtMs: 1 });
      await database.transact((tx) =>
        tx
          .updateTable('updates')
          .set({ discovered_at: 5, ...fields })
          .where('id', '=', updateId)
          .execute(),
      );
    }
    const count = async (scope: GroupScope, stepRows?: number) => {
      let sum = 0;
      for await (const part of countCriticalFixes(database.read, {
        scope,
        ...(stepRows === undefined ? {} : { stepRows }),
      }))
        sum += part;
      return sum;
    };
    expect(await count(null)).toBe(7);
    expect(await count(null, 2)).toBe(7);
    expect(await count(null, 3)).toBe(7);
    expect(await count(['web'])).toBe(6);
    expect(await count(['db'], 1)).toBe(1);
  });
});
