import { randomUUID } from 'node:crypto';
import { type AgentEvent, AgentEvents, CommandResult } from '@tidegate/protocol/agent-api';
import { Check } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../identity/config-file.ts';
import { timestamp, trustedNow } from '../platform/clock.ts';
import { watchFreshness } from '../session/freshness.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { NOW_MS } from '../testing/fleet.ts';
import { runLoop, runOnce } from './loop.ts';

const YEARS = 5 * 365 * 86_400_000;

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

function deliver(seq: number): string {
  const id = randomUUID();
  const envelope = agent.fleet.command({ command_id: id, seq });
  agent.server.commands.push({ id, envelope });
  return id;
}

const outcomeOf = (id: string) => {
  const body = agent.server.received(`commands/${id}/result`).at(-1);
  return Check(CommandResult, body) ? body.status : null;
};

function events(): AgentEvent[] {
  return agent.server.received('events').flatMap((body) => (Check(AgentEvents, body) ? body.events : []));
}

test('the later of the own clock and the signed server time counts (T16)', () => {
  expect(trustedNow(NOW_MS, null)).toBe(NOW_MS);
  expect(trustedNow(NOW_MS, timestamp(NOW_MS - 60_000))).toBe(NOW_MS);
  expect(trustedNow(NOW_MS, timestamp(NOW_MS + 60_000))).toBe(NOW_MS + 60_000);
});

describe('a host whose clock is years wrong (RT18)', () => {
  test('and behind executes current commands, by the signed time', async () => {
    agent.localMs = NOW_MS - YEARS;
    const id = deliver(1);
    expect(await runOnce(agent.start())).toBeNull();
    expect([outcomeOf(id), events()]).toEqual(['success', []]);
  });

  test('and ahead refuses commands, loses no token, and recovers with its clock', async () => {
    agent.localMs = NOW_MS + YEARS;
    const tokens = () => {
      const loaded = loadConfig(agent.folder);
      return loaded.ok ? loaded.config.refresh_token : null;
    };
    const before = tokens();
    const refused = deliver(1);
    expect(await runOnce(agent.start())).toBeNull();
    expect([outcomeOf(refused), tokens()]).not.toContain('success');
    expect(tokens()).toBe(before);
    expect(events().map(({ type }) => type)).toEqual(['COMMAND_REFUSED']);
    agent.server.commands = [];
    agent.localMs = NOW_MS;
    const taken = deliver(2);
    expect(await runOnce(agent.start())).toBeNull();
    expect(outcomeOf(taken)).toBe('success');
  });
});

describe('silence (T12)', () => {
  test('three intervals without a newer signed state are logged, and are one event when contact is restored', async () => {
    const stop = new AbortController();
    let polls = 0;
    let elapsedMs = 0;
    const runtime = agent.start();
    agent.server.override = (path) => (path === 'check-in' && polls > 0 && polls < 7 ? 'hang up' : null);
    await runLoop(
      { ...runtime, elapsedMs: () => elapsedMs, freshness: watchFreshness(() => elapsedMs) },
      {
        signal: stop.signal,
        sleep: async () => {
          polls += 1;
          elapsedMs += 60_000;
          if (polls === 5) expect(agent.logged.join('')).toContain('silent_seconds=240');
          agent.server.state = agent.fleet.state({ server_time: timestamp(NOW_MS + elapsedMs) });
          if (polls === 12) stop.abort();
        },
      },
    );
    expect(agent.logged.filter((line) => line.includes('no newer signed state'))).toHaveLength(1);
    expect(events()).toMatchObject([
      { type: 'AGENT_ERROR', details: { check: 'state_stale', last_server_time: timestamp(NOW_MS) } },
    ]);
  });

  test('a replayed state counts as silence although the server answers', async () => {
    const stop = new AbortController();
    let polls = 0;
    let elapsedMs = 0;
    await runLoop(
      { ...agent.start(), elapsedMs: () => elapsedMs, freshness: watchFreshness(() => elapsedMs) },
      {
        signal: stop.signal,
        sleep: async () => {
          polls += 1;
          elapsedMs += 60_000;
          if (polls === 6) stop.abort();
        },
      },
    );
    expect(agent.logged.join('')).toContain('no newer signed state');
  });
});
