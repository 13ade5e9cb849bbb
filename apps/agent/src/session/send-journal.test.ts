import { type AgentEvent, AgentEvents, BODY_MAX_BYTES } from '@tidegate/protocol/agent-api';
import { Check } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Runtime } from '../commands/runtime.ts';
import { agentEvent } from '../journal/events.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { NOW_MS } from '../testing/fleet.ts';
import { problem } from '../testing/scripted-server.ts';
import { sendJournal } from './send-journal.ts';

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

function notice(runtime: Runtime, count: number, text = (n: number) => `event ${n}`): void {
  for (let n = 0; n < count; n += 1) {
    expect(runtime.journal.queueEvent(agentEvent('PLAN_DRIFT', text(n), { nowMs: NOW_MS }))).toEqual({
      ok: true,
    });
  }
}

/** The events of each request, as they arrived. */
function requests(): AgentEvent[][] {
  return agent.server.received('events').map((body) => {
    if (!Check(AgentEvents, body)) throw new Error('not events');
    return body.events;
  });
}

const messages = (events: readonly AgentEvent[]) => events.map(({ message }) => message);

describe('events queued while offline', () => {
  test('are sent by the next process, all of them, in order, at most 100 in a request', async () => {
    notice(agent.start(), 230);
    expect(await sendJournal(agent.start())).toBeNull();
    expect(requests().map((events) => events.length)).toEqual([100, 100, 30]);
    expect(messages(requests().flat())).toEqual(Array.from({ length: 230 }, (_, n) => `event ${n}`));
    expect(agent.start().journal.events()).toEqual([]);
  });

  test('are sent again with the same ids when the answer was lost, and nothing twice when it came', async () => {
    const runtime = agent.start();
    notice(runtime, 2);
    agent.server.override = (path) => (path === 'events' ? 'hang up' : null);
    expect(await sendJournal(runtime)).toMatchObject({ kind: 'retryable' });
    agent.server.override = () => null;
    expect(await sendJournal(agent.start())).toBeNull();
    await sendJournal(agent.start());
    const [lost, again, ...others] = requests();
    expect(again).toEqual(lost);
    expect(new Set(again?.map(({ details }) => details?.event_id)).size).toBe(2);
    expect(others).toEqual([]);
  });

  test('fit the largest body, however large they are', async () => {
    const sizes: number[] = [];
    const call: Runtime['session']['call'] = async ({ body }) => {
      sizes.push(JSON.stringify(body).length);
      return { ok: true, value: { status: 202, body: null } };
    };
    const runtime = agent.start({ session: { call } });
    notice(runtime, 60, (n) => `${n}${'\u0001'.repeat(4_000)}`);
    expect(await sendJournal(runtime)).toBeNull();
    expect(runtime.journal.events()).toEqual([]);
    expect(Math.max(...sizes)).toBeLessThan(BODY_MAX_BYTES);
    expect(sizes.length).toBeLessThan(6);
  });

  test('are not lost when the server refuses one of them', async () => {
    const runtime = agent.start();
    notice(runtime, 7);
    agent.server.override = (path) => {
      const isBad = path === 'events' && messages(requests().at(-1) ?? []).includes('event 3');
      return isBad ? problem('invalid_request') : null;
    };
    expect(await sendJournal(runtime)).toBeNull();
    const taken = requests().filter((events) => !messages(events).includes('event 3'));
    expect(messages(taken.flat())).toEqual([0, 1, 2, 4, 5, 6].map((n) => `event ${n}`));
    expect(runtime.journal.events()).toEqual([]);
    expect(agent.logged.join('')).toContain('the server refused an event');
  });

  test.each(['agent_too_old', 'not_found', 'unavailable', 'rate_limited'] as const)(
    'wait while the server says %s',
    async (code) => {
      const runtime = agent.start();
      notice(runtime, 2);
      agent.server.override = (path) => (path === 'events' ? problem(code) : null);
      await sendJournal(runtime);
      expect(requests()).toHaveLength(1);
      expect(messages(agent.start().journal.events())).toEqual(['event 0', 'event 1']);
    },
  );
});
