import { LISTS_MAX_AGE_MS, TimelinessReport } from '@tidegate/protocol/timeliness';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Runtime } from '../commands/runtime.ts';
import { checkIn } from '../polling/check-in.ts';
import { runOnce } from '../polling/loop.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { NOW_MS } from '../testing/fleet.ts';
import { problem } from '../testing/scripted-server.ts';
import { REFUSED_MS, sendTimeliness, watchTimeliness } from './send-timeliness.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
let agent: TestAgent;
let elapsedMs: number;
beforeEach(async () => {
  agent = await createAgent();
  elapsedMs = 0;
});
afterEach(() => agent.stop());

function start(): Runtime {
  const runtime = agent.start();
  const { inventory } = runtime;
  const host = { inventory, localMs: () => agent.localMs, elapsedMs: () => elapsedMs };
  return { ...runtime, timeliness: watchTimeliness(host) };
}

const listsAre = (ageMs: number | null) => {
  agent.driver.examineLists = async () => ({ ageMs, staleness: null });
};
const reported = () => agent.server.received('timeliness').map((body) => Value.Parse(TimelinessReport, body));
const aheadMs = () => reported().map(({ clock }) => Date.parse(clock) - NOW_MS);

/** A check-in, and what follows it; the number of reports so far. */
async function poll(runtime: Runtime): Promise<number> {
  expect(await checkIn(runtime)).toMatchObject({ ok: true });
  expect(await sendTimeliness(runtime)).toBeNull();
  return reported().length;
}

test('a round reports the age of the lists and the own clock, however wrong, once', async () => {
  listsAre(90 * MINUTE_MS + 999);
  agent.localMs = NOW_MS - 3 * DAY_MS; // the server's signed time is trusted, and not what is told
  const runtime = start();
  expect(await runOnce(runtime)).toBeNull();
  expect(await runOnce(runtime)).toBeNull();
  expect(reported()).toEqual([
    { clock: new Date(NOW_MS - 3 * DAY_MS).toISOString(), lists: { apt: 90 * 60 } },
  ]);
});

test('before a scan nothing is said, and an unknown age is left out', async () => {
  const runtime = start();
  expect(await poll(runtime)).toBe(0);
  await runtime.inventory.scan(null);
  expect(await poll(runtime)).toBe(1);
  expect(reported()).toMatchObject([{ lists: {} }]);
});

test('the bound of two days is told when a scan finds it passed or left; other ages wait for the next day', async () => {
  const runtime = start();
  const counts: number[] = [];
  for (const ageMs of [
    LISTS_MAX_AGE_MS - DAY_MS,
    LISTS_MAX_AGE_MS,
    LISTS_MAX_AGE_MS + SECOND_MS,
    9 * DAY_MS,
    0,
  ]) {
    listsAre(ageMs);
    await runtime.inventory.scan(null);
    counts.push(await poll(runtime));
  }
  expect(counts).toEqual([1, 1, 2, 2, 3]);
  elapsedMs += DAY_MS - 1;
  expect(await poll(runtime)).toBe(3);
  elapsedMs += 1;
  expect(await poll(runtime)).toBe(4);
  expect(await poll(runtime)).toBe(4);
});

test('a clock that passes or leaves a bound is told with the next check-in; one beside it does not chatter', async () => {
  const runtime = start();
  await runtime.inventory.scan(null);
  const counts: number[] = [];
  const steps = [0, 29, 31, 29, 31, 3_600, 299, 301, 299, 360, 0, -31, 0];
  for (const seconds of steps) {
    agent.localMs = NOW_MS + seconds * SECOND_MS;
    counts.push(await poll(runtime));
  }
  expect(counts).toEqual([1, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 7, 8]);
  expect(aheadMs()).toEqual([0, 31, 3_600, 299, 360, 0, -31, 0].map((seconds) => seconds * SECOND_MS));
});

test('the clock is read when the request goes out, not when a renewal before it began', async () => {
  const runtime = start();
  await runtime.inventory.scan(null);
  const call = runtime.session.call;
  const session = {
    call: (request: Parameters<typeof call>[0]) => {
      agent.localMs += 40 * SECOND_MS;
      return call(request);
    },
  };
  expect(await sendTimeliness({ ...runtime, session })).toBeNull();
  expect(aheadMs()).toEqual([40 * SECOND_MS]);
});

test('a server that cannot take it now gets it later', async () => {
  const runtime = start();
  await runtime.inventory.scan(null);
  agent.server.override = (path) => (path === 'timeliness' ? { status: 503, body: '{}' } : null);
  expect(await sendTimeliness(runtime)).toMatchObject({ kind: 'retryable' });
  agent.server.override = () => null;
  expect(await poll(runtime)).toBe(2);
  expect(await poll(runtime)).toBe(2);
});

test('an older server is asked once an hour, and the log says so once; when it is newer, it hears all', async () => {
  const runtime = start();
  listsAre(9 * DAY_MS);
  await runtime.inventory.scan(null);
  agent.server.override = (path) => (path === 'timeliness' ? problem('not_found') : null);
  const counts: number[] = [];
  for (const waitMs of [0, 0, REFUSED_MS - 1, 1, MINUTE_MS]) {
    elapsedMs += waitMs;
    agent.localMs += 3_600 * SECOND_MS;
    counts.push(await poll(runtime));
  }
  expect(counts).toEqual([1, 1, 1, 2, 2]);
  const lines = agent.logged.filter((line) => line.includes('takes no report'));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\[INFO\] .*404/);

  agent.server.override = () => null; // upgraded, while the agent went on
  elapsedMs += REFUSED_MS - MINUTE_MS - 1;
  expect(await poll(runtime)).toBe(2);
  elapsedMs += 1;
  expect(await poll(runtime)).toBe(3);
  expect(reported().at(-1)).toMatchObject({ lists: { apt: (9 * DAY_MS) / SECOND_MS } });
  elapsedMs += REFUSED_MS;
  expect(await poll(runtime)).toBe(3);
});
