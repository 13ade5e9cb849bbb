import { setTimeout as pause } from 'node:timers/promises';
import { tmpDir } from '@tidegate/testkit/tmp';
import { DAYS, makeHistory } from './history.ts';
import { ADMIN, PASSWORD } from './people.ts';
import { openServer } from './server.ts';
import { startSources } from './sources.ts';
import { say, title } from './voice.ts';

/** Hosts check in so often, one after the other. */
const ROUND_MS = 30_000;
/** What an installation takes. */
const INSTALLS_MS = 4_000;
const SAID_EVERY_DAYS = 5;

/** A fleet with 30 days of history that goes on living; everything is in a folder of its own, removed at the end. */
export async function openDemo({ port }: { port: number }) {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(tmpDir('tidegate-demo-'));
  const sources = stack.use(await startSources());
  title(`A fleet with ${DAYS} days of history`);
  say('server', `makes the history with its own code and a clock that is moved, in ${folder.path}`);
  const onDay = (day: number) => {
    if (day % SAID_EVERY_DAYS === 0) say('fleet', `day ${day + 1} of ${DAYS}`);
  };
  const { hosts, place, isUp } = await makeHistory(folder.path, { sources, onDay });
  const server = await openServer(folder.path, { sources, now: Date.now, port });
  stack.defer(server.stop);
  place.url = server.url;
  const over = new AbortController();
  const alive = keepAlive(hosts.filter(isUp), over.signal);
  stack.defer(async () => {
    over.abort();
    await alive;
  });
  const held = stack.move();
  return { url: server.url, hosts: hosts.length, [Symbol.asyncDispose]: () => held.disposeAsync() };
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

async function keepAlive(hosts: Awaited<ReturnType<typeof makeHistory>>['hosts'], signal: AbortSignal) {
  const wait = (ms: number) => pause(ms, undefined, { signal }).catch(() => {});
  const tell = (error: unknown) => say('fleet', String(error));
  /** Hosts work by themselves, so that the others are not late. */
  const working = new Set<Promise<void>>();
  while (!signal.aborted) {
    for (const host of hosts) {
      if (signal.aborted) break;
      await host.checkIn().catch(tell);
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
