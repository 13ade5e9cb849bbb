import { describe, expect, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { longestTurn } from '../testing/longest-turn.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { newRow } from '../updates/record-scan.ts';
import { insertUpdates } from '../updates/store.ts';
import { installedOrder, listInstalled } from './installed-store.ts';

/** Of each package: the product of both is 9 million, which took seconds. */
const VERSIONS = 3_000;
const HELD_MAX_MS = 200;

describe.each(ENGINES)('packages of a host that makes up versions and updates, on $name', (engine) => {
  test('are filtered by what has an update without looking at each of these for each of those', async () => {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const ecosystem = 'apt';
    const numbers = Array.from({ length: VERSIONS }, (_, n) => n);
    await database.transact(async (tx) => {
      await insertInstalled(
        tx,
        numbers.map((n) => ({ agent_id: agentId, ecosystem, name: 'a', arch: 'amd64', version: `1.${n}` })),
      );
      // For each of three versions one: of its architecture, of any, and of another.
      const offers = numbers.map((n) => {
        const arch = ['amd64', '', 'arm64'][n] ?? 'amd64';
        const current = n < 3 ? `1.${n}` : 'not installed';
        const update = { name: 'a', arch, current_version: current, available_version: `2.${n}` };
        return newRow(platform, { agentId, ecosystem, update });
      });
      await insertUpdates(tx, offers);
    });
    const list = (hasUpdate: boolean) =>
      listInstalled(database.read, {
        ...{ agentId, filter: { hasUpdate }, order: installedOrder(), limit: 50, after: null },
      });
    let [updatable, other] = [await list(true), 0];
    const held = await longestTurn(async () => {
      updatable = await list(true);
      other = (await list(false)).count;
    });
    expect(updatable.rows.map(({ version }) => version)).toEqual(['1.0', '1.1']);
    expect([updatable.count, other]).toEqual([2, VERSIONS - 2]);
    expect(held).toBeLessThan(HELD_MAX_MS);
  });
});
