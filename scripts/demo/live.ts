import { setTimeout as pause } from 'node:timers/promises';
import { tmpDir } from '@tidegate/testkit/tmp';
import { DAYS, makeHistory } from './history.ts';
import { ADMIN, actAs, type Call, PASSWORD } from './people.ts';
import { openServer } from './server.ts';
import { startSources } from './sources.ts';
import { say, title } from './voice.ts';

/** Hosts check in so often, one after the other. */
const ROUND_MS = 30_000;
/** What an installation takes. */
const INSTALLS_MS = 4_000;
const SAID_EVERY_DAYS = 5;
/** Between two looks at the overview. */
const LOOK_MS = 250;

/** A fleet with 30 days of history until a time or now, which goes on living from then on; its folder is removed at the end. */
export async function openDemo({ port, endMs }: { port: number; endMs?: number }) {
  await using stack = new AsyncDisposableStack();
  const began = Date.now();
  const folder = stack.use(tmpDir('tidegate-demo-'));
  const sources = stack.use(await startSources());
  title(`A fleet with ${DAYS} days of history`);
  say('server', `makes the history with its own code and a clock that is moved, in ${folder.path}`);
  const onDay = (day: number) => {
    if (day % SAID_EVERY_DAYS === 0) say('fleet', `day ${day + 1} of ${DAYS}`);
  };
  const { hosts, place, isUp } = await makeHistory(folder.path, { sources, onDay, endMs: endMs ?? began });
  const aheadMs = endMs === undefined ? 0 : endMs - Date.now();
  const now = () => Date.now() + aheadMs;
  place.now = now;
  const server = await openServer(folder.path, { sources, now, port });
  stack.defer(server.stop);
  place.url = server.url;
  const over = new AbortController();
  const up = hosts.filter(isUp);
  // On a slow machine the history has taken so long that they would all be offline.
  for (const host of up) await comeIn(host);
  await untilCounted(
    actAs(ADMIN, () => server.url),
    now(),
  );
  const alive = keepAlive(up, over.signal);
  stack.defer(async () => {
    over.abort();
    await alive;
  });
  const held = stack.move();
  return { url: server.url, now, hosts: hosts.length, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** The demo in a terminal, until Ctrl C. */
export async function liveDemo({ port }: { port: number }): Promise<void> {
  const began = performance.now();
  {
    await using demo = await openDemo({ port });
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    const seconds = Math.round((performance.now() - began) / 1_000);
    title(`Ready after ${seconds} s. Look around, nothing leaves this machine`);
    say('console', demo.url);
    say('login', `${ADMIN} with the password "${PASSWORD}" (ben and eva may approve, kim may only read)`);
    say(
      'fleet',
      `${demo.hosts} simulated hosts go on checking in; approve an update, and one of them reports it as installed`,
    );
    say('server', `${demo.url}/api/docs describes the API; Ctrl C ends the demo and removes its data`);
    await promise;
  }
  title('The demo is over; all of its data has been removed');
}

/** The overview keeps its counts for some seconds: those from before a time would say that every host is offline. */
async function untilCounted(call: Call, sinceMs: number): Promise<void> {
  for (;;) {
    const { as_of } = await call('GET', '/overview');
    if (Date.parse(String(as_of)) >= sinceMs) return;
    await pause(LOOK_MS);
  }
}

type Hosts = Awaited<ReturnType<typeof makeHistory>>['hosts'];

async function comeIn(host: Hosts[number]): Promise<void> {
  await host.prove().catch(tell);
  await host.checkIn().catch(tell);
}

function tell(error: unknown): void {
  say('fleet', String(error));
}

async function keepAlive(hosts: Hosts, signal: AbortSignal) {
  const wait = (ms: number) => pause(ms, undefined, { signal }).catch(() => {});
  /** Hosts work by themselves, so that the others are not late. */
  const working = new Set<Promise<void>>();
  while (!signal.aborted) {
    for (const host of hosts) {
      if (signal.aborted) break;
      await comeIn(host);
      const work = host
        .work(() => wait(INSTALLS_MS))
        .catch(tell)
        .finally(() => working.delete(work));
      working.add(work);
      await wait(ROUND_MS / hosts.length);
    }
  }
  await Promise.all(working);
}
