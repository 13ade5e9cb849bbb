import { setTimeout as pause } from 'node:timers/promises';
import { tmpDir } from '@tidegate/testkit/tmp';
import { DAYS, each, makeHistory } from './history.ts';
import { ADMIN, PASSWORD } from './people.ts';
import { openServer } from './server.ts';
import { startSources } from './sources.ts';
import { say, title } from './voice.ts';

/** Hosts check in so often, one after the other. */
const ROUND_MS = 30_000;
/** What an installation takes. */
const INSTALLS_MS = 4_000;
const SAID_EVERY_DAYS = 5;

/** A fleet with 30 days of history that goes on living until Ctrl C. Everything is in a folder of its own, removed at the end. */
export async function liveDemo({ port }: { port: number }): Promise<void> {
  const began = performance.now();
  using folder = tmpDir('tidegate-demo-');
  await using sources = await startSources();
  title(`A fleet with ${DAYS} days of history`);
  say('server', `makes the history with its own code and a clock that is moved, in ${folder.path}`);
  const onDay = (day: number) => {
    if (day % SAID_EVERY_DAYS === 0) say('fleet', `day ${day + 1} of ${DAYS}`);
  };
  const { hosts, place, isUp } = await makeHistory(folder.path, { sources, onDay });
  const server = await openServer(folder.path, { sources, now: Date.now, port });
  place.url = server.url;
  const over = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => over.abort());
  title(
    `Ready after ${Math.round((performance.now() - began) / 1_000)} s. Look around, nothing leaves this machine`,
  );
  say('console', server.url);
  say('login', `${ADMIN} with the password "${PASSWORD}" (ben and eva may approve, kim may only read)`);
  say(
    'fleet',
    `${hosts.length} simulated hosts go on checking in; approve an update, and one of them reports it as installed`,
  );
  say('server', `${server.url}/api/docs describes the API; Ctrl C ends the demo and removes its data`);
  try {
    await keepAlive(hosts.filter(isUp), over.signal);
  } finally {
    await server.stop();
  }
  title('The demo is over; all of its data has been removed');
}

async function keepAlive(hosts: Awaited<ReturnType<typeof makeHistory>>['hosts'], signal: AbortSignal) {
  const wait = (ms: number) => pause(ms, undefined, { signal }).catch(() => {});
  while (!signal.aborted) {
    for (const host of hosts) {
      if (signal.aborted) return;
      await each([host], (one) => one.checkIn());
      // It works by itself, so that the others are not late.
      host.work(() => wait(INSTALLS_MS)).catch((error) => say('fleet', String(error)));
      await wait(ROUND_MS / hosts.length);
    }
  }
}
