import type { Figure } from '@tidegate/protocol/overview-api';
import { insertDecisions } from '../approvals/decision-store.ts';
import { insertCommands } from '../commands/store.ts';
import type { Config } from '../config.ts';
import { appendEvent } from '../events/append-event.ts';
import { insertTestAgent, insertTestUpdate } from './agent-rows.ts';
import type { TestEngine } from './engines.ts';
import { createTestApp } from './test-app.ts';
import type { TestPlatform } from './test-platform.ts';

const HOUR_MS = 3_600_000;

/** The whole application, a while after its start, and calls of its admin. */
export async function openOverviewApp(engine: TestEngine, settings: Partial<Config> = {}) {
  const app = await createTestApp(engine, settings);
  app.platform.clock.advance(61_000);
  const token = await app.adminToken();
  const headers = { authorization: `Bearer ${token}` };
  async function call(method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) {
    const answer = await app.http.inject({ method, url, headers, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.json() };
  }
  return { app, platform: app.platform, call, get: (url: string) => call('GET', url) };
}

/** Which of the updates below has waited long for its verdict. */
const LONG_UNJUDGED = 10;

/** A fleet with every kind of row; hosts 1 to 4 exist, 5 is deleted. */
export async function fillFleet(platform: TestPlatform, { group = null }: { group?: string | null } = {}) {
  const { database } = platform;
  const nowMs = platform.now();
  const agents: string[] = [];
  for (const n of [1, 2, 3, 4]) {
    const machineId = n === 3 ? null : `machine-${n}`;
    const grouped = group !== null && n === 1 ? { group } : {};
    agents.push((await insertTestAgent(database, { n, machineId, ...grouped })).agentId);
  }
  const { agentId: deleted } = await insertTestAgent(database, { n: 5, deletedAtMs: 1 });
  const [first = '', second = '', , fourth = ''] = agents;
  const updates: [agentId: string, state: string, verdict: string | null, fields?: object][] = [
    [first, 'pending', 'clear', { known_exploited: 1, fixes: 3, fixes_severity: 'critical', fix_rank: 16 }],
    [first, 'pending', 'vulnerable', { security: 1 }],
    [first, 'pending', null],
    [second, 'pending', 'unchecked', { known_exploited: 0 }],
    [second, 'pending', 'clear', { fixes: 0 }],
    [second, 'approved', 'clear', { fixes: 1 }],
    [second, 'failed', 'vulnerable'],
    [second, 'installed', 'clear', { fixes: 9 }],
    [deleted, 'pending', 'clear', { known_exploited: 1, fixes: 1, security: 1 }],
    [deleted, 'failed', null],
    [first, 'pending', null],
  ];
  const ids: string[] = [];
  for (const [i, [agentId, state, verdict, fields = {}]] of updates.entries()) {
    const { updateId } = await insertTestUpdate(database, { agentId, n: i + 1, state, expiresAtMs: nowMs });
    ids.push(updateId);
    const discovered_at = i === 0 || i === LONG_UNJUDGED ? nowMs - 100 * HOUR_MS : nowMs;
    await database.transact((tx) =>
      tx
        .updateTable('updates')
        .set({ verdict, discovered_at, ...fields })
        .where('id', '=', updateId)
        .execute(),
    );
  }
  await database.transact(async (tx) => {
    await tx
      .insertInto('agent_presence')
      .values([
        { agent_id: first, last_seen_at: nowMs },
        { agent_id: second, last_seen_at: nowMs - HOUR_MS },
      ])
      .execute();
    await tx
      .updateTable('agents')
      .set({ status: 'revoked', revoked_at: nowMs })
      .where('id', '=', fourth)
      .execute();
    await tx
      .insertInto('clone_suspicions')
      .values({ agent_id: first, since: nowMs, evidence: '[]', raised_at: nowMs, accepted_addresses: '[]' })
      .execute();
    for (const status of ['pending', 'sent'] as const) {
      await insertCommands(tx, [
        {
          row: {
            ...{ id: platform.newId(), agent_id: first, action: 'install_update', params: '{}', status },
            ...{ created_by: 'ada', created_at: nowMs, not_before: nowMs, expires_at: nowMs + HOUR_MS },
            ...{ approval_id: null, approval_sha256: null },
          },
          updateIds: [],
        },
      ]);
    }
    for (const [i, outcome] of (['blocked', 'blocked', 'handed_back', 'minted'] as const).entries()) {
      const row = {
        ...{ id: platform.newId(), agent_id: first, set_sha256: 's', outcome, actor: 'ada' },
        ...{ fingerprint: 'f', document: '{}', document_sha256: 'd', decided_at: nowMs, repeats: 0 },
        ...{ plan_id: null, token_id: null, repeated_at: null },
      };
      await insertDecisions(tx, [{ row, updateIds: [ids[Math.floor(i / 2)] ?? ''] }]);
    }
    await tx
      .insertInto('artifact_divergences')
      .values({
        ...{ id: platform.newId(), ecosystem: 'apt', scope: 's', name: 'n', version: 'v', variant: '' },
        ...{ algorithm: 'sha256', state: 'open', hash_count: 2, opened_at: nowMs },
      })
      .execute();
    for (const agentId of [first, second]) {
      for (const type of ['MACHINE_ID_MISMATCH', 'REFRESH_TOKEN_REUSE', 'AGENT_ENROLLED'] as const) {
        const event = { severity: 'warning', component: 'test', agentId, content: {} } as const;
        await appendEvent(tx, platform, { kind: 'security', type, ...event });
      }
      for (const type of ['update_installed', 'update_failed', 'update_approved'] as const) {
        const event = { severity: 'info', component: 'test', agentId, content: {} } as const;
        await appendEvent(tx, platform, { kind: 'system', type, ...event });
      }
    }
  });
  return { agents, ids };
}

export const isPart = (one: unknown): one is object => one !== null && typeof one === 'object';
export const isFigure = (one: unknown): one is Figure => isPart(one) && 'count' in one && 'opens' in one;
