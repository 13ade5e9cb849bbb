import { afterEach, beforeEach, expect, test } from 'vitest';
import { timestamp } from '../platform/clock.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { NOW_MS } from '../testing/fleet.ts';
import { checkIn } from './check-in.ts';

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

test("T6: a rollback of the server's event log in the same epoch is reported once", async () => {
  const runtime = agent.start();
  async function hear(seconds: number, position: number): Promise<void> {
    const server_time = timestamp(NOW_MS + seconds * 1_000);
    const events_head = { position, hash: `${position}`.repeat(64).slice(0, 64) };
    agent.server.state = agent.fleet.state({ server_time, events_head });
    expect(await checkIn(runtime)).toMatchObject({ ok: true });
  }
  await hear(0, 8);
  await hear(60, 9);
  expect(runtime.journal.events()).toEqual([]);
  await hear(120, 7);
  await hear(180, 8);
  expect(runtime.journal.events()).toEqual([
    {
      type: 'AGENT_ERROR',
      severity: 'error',
      message: expect.stringContaining("The server's event log was rolled back"),
      at: expect.any(String),
      details: {
        event_id: expect.any(String),
        check: 'events_rolled_back',
        epoch: 1,
        kept_position: 9,
        kept_hash: '9'.repeat(64),
        kept_at: timestamp(NOW_MS + 60_000),
        position: 7,
        hash: '7'.repeat(64),
        server_time: timestamp(NOW_MS + 120_000),
      },
    },
  ]);
});
