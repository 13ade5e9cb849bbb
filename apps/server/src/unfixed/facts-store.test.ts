import { describe, expect, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { newRow } from '../updates/record-scan.ts';
import { insertUpdates } from '../updates/store.ts';
import { pendingOf } from './facts-store.ts';

describe.each(ENGINES)('what updates would bring, on $name', (engine) => {
  test('comes in parts, each once, host by host, without what has ended', async () => {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const hosts = await Promise.all([1, 2, 3, 4].map((n) => insertTestAgent(database, { n })));
    const ids = hosts.map(({ agentId }) => agentId);
    const row = (agentId: string, name: string, more = {}) => {
      const update = { name, current_version: '1', available_version: '2' };
      return { ...newRow(platform, { agentId, ecosystem: 'apt', update }), ...more };
    };
    const count = 4_500;
    const many = Array.from({ length: count }, (_, n) => row(ids[1] ?? '', `package-${n}`));
    // Installations that are undone beside the same version, wherever a part ends.
    const undone = Array.from({ length: count }, (_, n) =>
      row(ids[1] ?? '', `package-${n}`, { rollback_of: `token-${n}`, state: 'approved' }),
    );
    const open = [row(ids[0] ?? '', 'first'), ...many, ...undone, row(ids[3] ?? '', 'last')];
    const ended = [
      row(ids[1] ?? '', 'first', { state: 'installed' }),
      row(ids[1] ?? '', 'a', { state: 'failed' }),
    ];
    await database.transact((tx) => insertUpdates(tx, [...open, ...ended]));
    const parts = await Array.fromAsync(pendingOf(database.read, ids));
    expect(Math.max(...parts.map(({ length }) => length))).toBe(2_000);
    const found = parts.flat().map(({ id }) => id);
    expect(found).toHaveLength(open.length);
    expect(new Set(found)).toEqual(new Set(open.map(({ id }) => id)));
    expect(parts.flat().map(({ agent_id: id }) => id)).toEqual(open.map((one) => one.agent_id).toSorted());
  });
});
