import { randomUUID } from 'node:crypto';
import type { AgentEvent } from '@tidegate/protocol/agent-api';
import { describe, expect, test } from 'vitest';
import { listEvents } from '../events/store.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { recordAgentEvents } from './record-agent-events.ts';

const event = (message: string, details?: AgentEvent['details']): AgentEvent => ({
  type: 'COMMAND_REFUSED',
  severity: 'error',
  message,
  at: '2026-11-21T09:00:00Z',
  ...(details === undefined ? {} : { details }),
});
const identified = (message: string) => event(message, { check: 'expired', event_id: randomUUID() });

describe.each(ENGINES)('events of agents on $name', (engine) => {
  async function setUp(options: Parameters<typeof engine.open>[0] = {}) {
    const database = await engine.open(options);
    const platform = createTestPlatform(database);
    const [one, other] = [
      await insertTestAgent(database, { n: 1 }),
      await insertTestAgent(database, { n: 2 }),
    ];
    const record = (events: AgentEvent[], { agentId } = one) =>
      database.transact((tx) => recordAgentEvents(tx, platform, { agentId, events }));
    const messages = async () => {
      const rows = await listEvents(database.read, { filter: {}, scope: null, limit: 200, before: null });
      return rows.map(({ content }): unknown => JSON.parse(content).message).reverse();
    };
    return { record, messages, other };
  }

  test('an event repeated because the answer was lost is stored once, and the next ones in order', async () => {
    const { record, messages } = await setUp();
    const [a, b, c] = [identified('a'), identified('b'), identified('c')];
    await record([a, b]);
    await record([a, b, c]);
    await record([c, c]);
    expect(await messages()).toEqual(['a', 'b', 'c']);
  });

  test('two concurrent identical requests are stored once (RT13)', async () => {
    const { record, messages } = await setUp();
    const batch = [identified('a'), identified('b')];
    await Promise.all([record(batch), record(batch), record(batch)]);
    expect(await messages()).toEqual(['a', 'b']);
  });

  test('a repetition finds events that still wait for their place in the log', async () => {
    const { record, messages } = await setUp({ afterCommit: async () => false });
    const a = identified('a');
    await record([a]);
    await record([a, identified('b')]);
    await record([a]); // chains b
    expect(await messages()).toEqual(['a', 'b']);
  });

  test('an id hides no event of another agent, and none of an agent that sends no ids', async () => {
    const { record, messages, other } = await setUp();
    const a = identified('a');
    await record([a]);
    await record([a], other);
    await record([
      event('plain'),
      event('plain'),
      event('odd', { event_id: 'x' }),
      event('odd', { event_id: 'x' }),
    ]);
    expect(await messages()).toEqual(['a', 'a', 'plain', 'plain', 'odd', 'odd']);
  });
});
