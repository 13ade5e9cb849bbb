import { describe, expect, test } from 'vitest';
import { recordAgentEvents } from '../commands/record-agent-events.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { BUDGETS } from './budget-rules.ts';
import { appendOutsiderEvent, charge, chargeReport } from './charge.ts';

const DAY_MS = 86_400_000;

async function setUp(engine: TestEngine) {
  const platform = createTestPlatform(await engine.open());
  const { database } = platform;
  return {
    platform,
    database,
    clock: platform.clock,
    charge: (key: string, rows: number) =>
      database.transact((tx) =>
        charge(tx, platform, { kind: 'failed_logins', subject: { key }, rows, bytes: 1 }),
      ),
    async events(type?: string) {
      let query = database.read
        .selectFrom('events')
        .select(['type', 'agent_id', 'content'])
        .orderBy('position');
      if (type !== undefined) query = query.where('type', '=', type);
      return (await query.execute()).map((row) => ({ ...row, content: JSON.parse(row.content) }));
    },
  };
}

describe.each(ENGINES)('what outsiders write, on $name', (engine) => {
  test('a spent budget leaves one event, stops only its owner, and resets the next day', async () => {
    const it = await setUp(engine);
    const { rows } = BUDGETS.failed_logins;
    expect(await it.charge('192.0.2.1', rows)).toBe(true);
    expect([await it.charge('192.0.2.1', 1), await it.charge('192.0.2.1', 1)]).toEqual([false, false]);
    expect(await it.charge('192.0.2.2', 1)).toBe(true);
    expect(await it.events('OUTSIDER_BUDGET_SPENT')).toMatchObject([
      { agent_id: null, content: { kind: 'failed_logins', subject: '192.0.2.1', rows_a_day: rows } },
    ]);
    it.clock.advance(DAY_MS);
    expect(await it.charge('192.0.2.1', 1)).toBe(true);
  });

  test('all strangers share a budget, and leave no rows once it is spent', async () => {
    const it = await setUp(engine);
    const { rows, all } = BUDGETS.failed_logins;
    for (let i = 0; i < all.rows / rows; i++) expect(await it.charge(`192.0.2.${i}`, rows)).toBe(true);
    expect(await it.charge('198.51.100.1', 1)).toBe(false);
    expect(await it.charge('198.51.100.2', 1)).toBe(false);
    const events = await it.events('OUTSIDER_BUDGET_SPENT');
    expect(events).toMatchObject([{ content: { subject: null, rows_a_day: all.rows } }]);
    const kept = await it.database.read.selectFrom('outsider_usage').select('subject').execute();
    expect(kept.map(({ subject }) => subject)).not.toContain('198.51.100.2');
  });

  test('a host that floods the event log is cut off, and the others are not', async () => {
    const it = await setUp(engine);
    const { agentId } = await insertTestAgent(it.database, { n: 1 });
    const { agentId: other } = await insertTestAgent(it.database, { n: 2 });
    const event = {
      type: 'AGENT_ERROR',
      severity: 'error',
      message: 'x',
      at: '2026-11-21T09:00:00Z',
    } as const;
    const send = (from: string) =>
      it.database.transact((tx) =>
        recordAgentEvents(tx, it.platform, { agentId: from, events: Array(100).fill(event) }),
      );
    for (let i = 0; i < 25; i++) await send(agentId);
    await send(other);
    const written = await it.events('AGENT_ERROR');
    expect(written.filter((one) => one.agent_id === agentId)).toHaveLength(BUDGETS.agent_events.rows);
    expect(written.filter((one) => one.agent_id === other)).toHaveLength(100);
    expect(await it.events('OUTSIDER_BUDGET_SPENT')).toMatchObject([{ agent_id: agentId }]);
  });

  test('large events spend the bytes before the rows', async () => {
    const it = await setUp(engine);
    const append = () =>
      it.database.transact((tx) =>
        appendOutsiderEvent(tx, it.platform, {
          kind: 'machine_mismatches',
          subject: { key: 'x' },
          event: {
            ...{ kind: 'security', type: 'MACHINE_ID_MISMATCH', severity: 'warning', component: 'agents' },
            content: { reported: 'x'.repeat(400_000) },
          },
        }),
      );
    expect([await append(), await append(), await append()]).toEqual([true, true, false]);
  });

  test("a report past the budget is 429 until midnight, and one host does not spend another host's budget", async () => {
    const it = await setUp(engine);
    const { agentId } = await insertTestAgent(it.database, { n: 1 });
    const { agentId: other } = await insertTestAgent(it.database, { n: 2 });
    const report = (from: string) =>
      chargeReport(it.platform, { agentId: from, rows: 10, bytes: 40_000_000 });
    await report(agentId);
    await expect(report(agentId)).rejects.toMatchObject({
      code: 'host_budget_spent',
      members: { retryAfterSeconds: expect.any(Number) },
    });
    await report(other);
    expect(await it.events('OUTSIDER_BUDGET_SPENT')).toMatchObject([
      { agent_id: agentId, content: { kind: 'reports' } },
    ]);
  });
});
