import { CompiledQuery } from 'kysely';
import { describe, expect, test } from 'vitest';
import { agentOrder, listAgents } from './agents/list-store.ts';
import { usualDurations } from './commands/durations-store.ts';
import { isSiblingDrift } from './commands/sibling-drift.ts';
import { hasOpenRepair, listCommands } from './commands/store.ts';
import { lastFailed } from './host-faults/store.ts';
import { changesBetween } from './installed/changes-store.ts';
import { installationsOf } from './package-history/installations-store.ts';
import type { Db } from './platform/db/engine.ts';
import { waitingUpdates } from './policy-runs/candidates-store.ts';
import { hostsToFollowUp } from './policy-runs/follow-ups-store.ts';
import { missedOf } from './policy-runs/missed-store.ts';
import { commandAhead, currentCommand } from './progress/store.ts';
import { updatesOfRing } from './rollout-runs/ring-updates-store.ts';
import { offersOfHosts, runsOfHosts } from './rollout-runs/watch-store.ts';
import { findRollout } from './rollouts/store.ts';
import { ENGINES } from './testing/engines.ts';
import { CANARY_THEN_REST } from './testing/rollout-rings.ts';
import { createRolloutScene } from './testing/rollout-scene.ts';
import { HOLD } from './testing/standing.ts';
import { pendingOf as pendingOfHosts } from './unfixed/facts-store.ts';
import { updatesThatBrought } from './updates/rollbacks-store.ts';
import { heldOfHosts } from './withheld/held-of-hosts.ts';
import { pendingOf } from './withheld/store.ts';

const [sqlite] = ENGINES;
if (!sqlite) throw new Error('there is no engine');

/** How SQLite looks up the rows of each table of a fleet, for every statement that `ask` runs. */
async function lookupsOf(
  db: Db,
  ask: (db: Db) => Promise<unknown>,
  wanted = / (updates|agent_commands)_/,
): Promise<string[]> {
  const asked: CompiledQuery[] = [];
  // Also called for each part of a statement; those that ran have a result.
  const compiled = new WeakMap<object, CompiledQuery>();
  const noted = db.withPlugin({
    transformQuery({ node, queryId }) {
      compiled.set(queryId, db.getExecutor().compileQuery(node, queryId));
      return node;
    },
    async transformResult({ queryId, result }) {
      const query = compiled.get(queryId);
      if (query) asked.push(query);
      return result;
    },
  });
  await ask(Object.assign(noted, { seals: db.seals, run: db.run }));
  const lookups: string[] = [];
  for (const { sql, parameters } of asked) {
    const plan = CompiledQuery.raw(`EXPLAIN QUERY PLAN ${sql}`, [...parameters]);
    const { rows } = await db.executeQuery<{ detail: string }>(plan);
    lookups.push(...rows.map(({ detail }) => detail).filter((detail) => wanted.test(detail)));
  }
  return lookups;
}

// Without statistics SQLite took a state or an action for rarer than some hosts, and read those of the whole fleet for each page.
describe('of a page of hosts SQLite reads the rows of these hosts alone:', () => {
  test.each<[string, (db: Db, agentIds: string[]) => Promise<unknown>]>([
    ['updates that wait', (db, ids) => Array.fromAsync(waitingUpdates(db, ids))],
    ['what they offer of a rollout', (db, agentIds) => offersOfHosts(db, { rolloutId: 'any', agentIds })],
    ['how long installations take', (db, agentIds) => usualDurations(db, { agentIds, nowMs: 1 })],
    ['what waits on one', (db, [id = '']) => pendingOf(db, id)],
    ['what updates would bring', (db, ids) => Array.fromAsync(pendingOfHosts(db, ids))],
    [
      'who missed a window',
      (db, agentIds) => missedOf(db, { agentIds, policyId: 'any', opening: { startMs: 1, endMs: 9 } }),
    ],
    [
      'commands of one action',
      (db, [agentId]) => {
        const filter = { agentId, action: 'install_update' };
        return listCommands(db, { filter, scope: null, before: null, limit: 10 });
      },
    ],
    ['its current command', (db, [agentId = '']) => currentCommand(db, agentId)],
    ['what it works on first', (db, [agent_id = '']) => commandAhead(db, { id: 'any', agent_id, seq: 9 })],
    ['its last failed command', (db, [agentId = '']) => lastFailed(db, agentId)],
    ['a repair under way', (db, [agentId = '']) => hasOpenRepair(db, { agentId, sinceMs: 1 })],
    [
      'what brought a version',
      (db, agent_ids) =>
        updatesThatBrought(db, { agent_ids, ecosystem: 'apt', name: 'openssl', version: '1' }),
    ],
    [
      'installations that changes came of',
      (db, [agentId = '']) => installationsOf(db, { agentId, sentUntilMs: 9, heardSinceMs: 1, limit: 10 }),
    ],
  ])('%s', async (_, ask) => {
    const { read } = await sqlite.open();
    for (const count of [1, 300]) {
      const ids = Array.from({ length: count }, (_, n) => `host-${n}`);
      const lookups = await lookupsOf(read, (db) => ask(db, ids));
      expect(lookups).not.toEqual([]);
      expect(lookups.filter((detail) => !detail.includes('(agent_id=?'))).toEqual([]);
    }
  });

  test('the history of its packages', async () => {
    const { read } = await sqlite.open();
    const span = { agentId: 'host', afterMs: 1, untilMs: 9 };
    const lookups = await lookupsOf(read, (db) => changesBetween(db, span), /./);
    expect(lookups).toContainEqual(
      expect.stringContaining('SEARCH c USING PRIMARY KEY (agent_number=? AND position>?)'),
    );
    expect(lookups.filter((detail) => /SCAN|TEMP/.test(detail))).toEqual([]);
  });

  test('whom a policy follows up', async () => {
    const { read } = await sqlite.open();
    const asked = { scope: { kind: 'all' }, policyId: 'any', installedSinceMs: 1, askedSinceMs: 1 } as const;
    for (const kind of ['reboot', 'restart_services'] as const) {
      const of = { kind, onlyNeeded: true, deadlineMs: 9, limit: 10 };
      const lookups = await lookupsOf(read, (db) => hostsToFollowUp(db, { ...asked, ...of }));
      expect(lookups.length).toBeGreaterThan(1);
      expect(lookups.filter((detail) => !detail.includes('(agent_id=?'))).toEqual([]);
    }
  });

  test.each(['revoked', 'unbound'] as const)('hosts that are %s', async (status) => {
    const { read } = await sqlite.open();
    const nowMs = 1;
    const list = { filter: { status }, scope: null, nowMs, limit: 10, after: null };
    for (const sort of ['hostname', '-last_seen_at'] as const) {
      const order = agentOrder(sort, nowMs);
      const lookups = await lookupsOf(read, (db) => listAgents(db, { ...list, order }), /^(SEARCH|SCAN) a /);
      expect(lookups).toEqual([expect.stringContaining(`INDEX agents_${status}`)]);
    }
  });

  test('what holds keep back', async () => {
    const it = await createRolloutScene(sqlite);
    const { agentId } = await it.host('canary');
    expect((await it.call('POST', '/api/v1/holds', HOLD)).status).toBe(201);
    const { database, now } = it.platform;
    const lookups = await lookupsOf(database.read, async (read) => {
      const held = await heldOfHosts({ now, database: { ...database, read } }, [
        { id: agentId, group: null },
      ]);
      expect([...held.values()]).toMatchObject([{ updates: 1 }]);
    });
    expect(lookups).toEqual([expect.stringContaining('(agent_id=?')]);
  });

  test('the runs of a rollout, and those that a drift may come from', async () => {
    const it = await createRolloutScene(sqlite);
    const { agentId } = await it.host('canary');
    await it.publish(CANARY_THEN_REST);
    for (const _ of 'ab') await it.run();
    const db = it.database.read;
    const rollout = await findRollout(db, (await it.rollout()).id);
    if (!rollout) throw new Error('there is no rollout');
    const lookups = await lookupsOf(db, (noted) => runsOfHosts(noted, { rollout, agentIds: [agentId] }));
    const command = await db.selectFrom('agent_commands').selectAll().executeTakeFirstOrThrow();
    const result = { status: 'refused', reason: 'plan_drift' } as const;
    lookups.push(...(await lookupsOf(db, (noted) => isSiblingDrift(noted, { command, result }))));
    const ring = { rollout, ring: 0, after: '', limit: 10 };
    const ofRing = await lookupsOf(db, (noted) => updatesOfRing(noted, ring));
    expect(ofRing.filter((detail) => /updates_(state|by)|agent_commands_by_action/.test(detail))).toEqual([]);
    const commands = lookups.filter((detail) => detail.includes('agent_commands_'));
    const ofHost = expect.stringContaining('(agent_id=?');
    expect(commands).toEqual([ofHost, ofHost]);
  });
});
