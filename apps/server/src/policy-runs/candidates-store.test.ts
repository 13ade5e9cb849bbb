import { describe, expect, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { newRow } from '../updates/record-scan.ts';
import { insertUpdates } from '../updates/store.ts';
import { waitingUpdates } from './candidates-store.ts';

describe.each(ENGINES)('the updates of a page of hosts, on $name', (engine) => {
  test('come in parts, each once, host by host, however many one host has', async () => {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const hosts = await Promise.all([1, 2, 3, 4].map((n) => insertTestAgent(database, { n })));
    const ids = hosts.map(({ agentId }) => agentId);
    const counts = new Map([
      [ids[0], 2],
      [ids[1], 4_500],
      [ids[3], 1],
    ]);
    const rows = [...counts].flatMap(([agentId = '', count]) =>
      Array.from({ length: count }, (_, n) => {
        const update = { name: `package-${n}`, current_version: '1', available_version: '2' };
        return newRow(platform, { agentId, ecosystem: 'apt', update });
      }),
    );
    await database.transact((tx) => insertUpdates(tx, rows));
    const parts = await Array.fromAsync(waitingUpdates(database.read, ids));
    expect(parts.map(({ length }) => length)).toEqual([2_000, 2_000, 502, 1]);
    const found = parts.flat();
    const order = (one: { agent_id: string; id: string }) => `${one.agent_id} ${one.id}`;
    expect(found.map(order)).toEqual(rows.map(order).toSorted());
  });
});
