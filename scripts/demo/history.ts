import { backUp } from './back-up.ts';
import { HOSTS, RELEASES } from './catalogue.ts';
import { startDemoClock } from './clock.ts';
import { createHost, type DemoHost } from './host.ts';
import { actAs, type Call } from './people.ts';
import { openServer } from './server.ts';
import type { Sources } from './sources.ts';
import { storyOf } from './story.ts';

export const DAYS = 30;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Between two rounds of check-ins, until the last two days, which the console shows in detail. */
const COARSE_MS = 8 * HOUR_MS;
const FINE_MS = HOUR_MS / 2;
const FINE_DAYS = 2;
const SPARE_MS = 5 * 60_000;
/** The background of the server looks about so often while nothing happens. */
const LOOKS = 3;
const LOOK_MS = 21_000;

/** Where the hosts find the server, which changes when the history is over. */
export interface Place {
  url: string;
  now: () => number;
}

/**
 * Lives through the 30 days before a time: a server with a clock that is moved, hosts that report to it by its API, and people
 * who act by its API. The server writes every row, and chains every event, by its own code.
 */
export async function makeHistory(
  dataDir: string,
  { sources, onDay, endMs }: { sources: Sources; onDay: (day: number) => void; endMs: number },
): Promise<{ hosts: DemoHost[]; place: Place; isUp: (host: DemoHost) => boolean }> {
  // What the server has recorded must never be of the future.
  const beginMs = endMs - DAYS * DAY_MS - SPARE_MS;
  using clock = startDemoClock(beginMs);
  const place: Place = { url: '', now: clock.now };
  const dayAt = () => Math.floor((clock.now() - beginMs) / DAY_MS);
  const server = await openServer(dataDir, { sources, now: clock.now, port: 0 });
  place.url = server.url;
  const url = () => place.url;
  const call = {
    ada: actAs('ada', url),
    ben: actAs('ben', url),
    eva: actAs('eva', url),
    kim: actAs('kim', url),
  };
  const hosts = HOSTS.map((given) =>
    createHost(given, {
      url,
      now: () => place.now(),
      offers: () => RELEASES.filter(({ day }) => day <= Math.max(dayAt(), 0)),
      fails: (host, name) =>
        (host.name === 'db-03' && name === 'sudo') || (host.name === 'web-05' && name === 'other nginx'),
    }),
  );
  await liftLimits(call.ada);
  await enrolAll(hosts, call.ada);
  const story = storyOf({ call, hosts, now: clock.now, chatUrl: sources.chatUrl });
  for (let day = 0; day < DAYS; day++) {
    onDay(day);
    sources.publish(day, new Date(clock.now()).toISOString());
    const isFine = day >= DAYS - FINE_DAYS;
    await each(
      hosts.filter((host) => story.isUp(host, day)),
      (host) => host.report(),
    );
    await settle();
    await story.act(day);
    if (day === DAYS - 1) await backUp(dataDir, { env: sources.env, now: clock.now });
    const nextMs = beginMs + (day + 1) * DAY_MS;
    while (clock.now() < nextMs) {
      clock.leap(Math.min(isFine ? FINE_MS : COARSE_MS, Math.max(1, nextMs - clock.now())));
      await each(
        hosts.filter((host) => story.isUp(host, day)),
        (host) => host.checkIn(),
      );
      await settle();
      await each(
        hosts.filter((host) => story.isUp(host, day)),
        (host) => host.work(),
      );
      await settle();
      await each(hosts, (host) => host.prove());
    }
  }
  await story.end();
  await settle();
  await server.stop();
  return { hosts, place, isUp: (host) => story.isUp(host, DAYS) };

  async function settle(): Promise<void> {
    for (let i = 0; i < LOOKS; i++) await clock.pass(LOOK_MS);
  }
}

/** All hosts of a demo share one address. */
async function liftLimits(call: Call): Promise<void> {
  const many = { requests: 20_000 };
  const { classes } = await call('GET', '/admin/rate-limits');
  const names = Object.keys(Object(classes));
  await call('PUT', '/admin/rate-limits', { classes: Object.fromEntries(names.map((name) => [name, many])) });
}

async function enrolAll(hosts: readonly DemoHost[], call: Call): Promise<void> {
  const byGroup = Map.groupBy(hosts, ({ group }) => group);
  for (const [group, members] of byGroup) {
    const asked = { label: `the hosts of ${group}`, seats: members.length, group };
    const { token } = await call('POST', '/admin/registration-tokens', asked);
    await each(members, async (host) => {
      await host.enrol(String(token));
      await host.checkIn();
      await host.tellRestarts();
      await host.tellProbes(true);
    });
  }
}

/** A few at a time. */
async function each(hosts: readonly DemoHost[], act: (host: DemoHost) => Promise<void>): Promise<void> {
  const queue = hosts.values();
  const lane = async () => {
    for (const host of queue) await act(host);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}
