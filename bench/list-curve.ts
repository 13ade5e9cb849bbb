import { LIST_NAMES } from './list-queries.ts';
import { type Timed, timeList, withListFleet, withListServer } from './lists.ts';
import { median, memoryOf } from './processes.ts';
import type { Figure } from './record.ts';
import { pointOf, type Scenario } from './scenario.ts';

const UPDATES_OF_HOST = 5;
const EVENTS_OF_HOST = 5;
/** Each query once: a list has hundreds. */
const ROUNDS = 1;

/**
 * First pages and deep ones of every list, with every filter and every sort; a point for each list and both kinds of pages,
 * and one for the queries among them that were measured on 22 November 2026.
 */
export const measureLists: Scenario = async (of, { floor, options }) => {
  const size = {
    ...{ hosts: of.agents, updates: of.agents * UPDATES_OF_HOST, events: of.agents * EVENTS_OF_HOST },
    say: options.say,
  };
  return withListFleet(of.engine, size, (place) =>
    withListServer(place, async (server) => {
      const figures: Figure[] = [];
      for (const list of LIST_NAMES) {
        const helloUs = [await floor.costUs(options.seconds)];
        const timed = await timeList(server, { rounds: ROUNDS, list });
        helloUs.push(await floor.costUs(options.seconds));
        const rssMb = Math.round(memoryOf(server.pid).rssKb / 1_024);
        for (const page of ['first', 'deep'] as const) {
          const pages = timed.filter((one) => one.page === page);
          const first = pages.filter(({ isFirst }) => isFirst);
          const at = { of, list, helloUs, rssMb };
          if (pages.length > 0) figures.push(figureOf(pages, { ...at, page }));
          if (first.length > 0) figures.push(figureOf(first, { ...at, page: `${page}, of 22 November` }));
        }
        options.say(`${of.engine}, ${list}: ${JSON.stringify(figures.at(-1))}`);
      }
      return figures;
    }),
  );
};

function figureOf(
  timed: readonly Timed[],
  {
    of,
    list,
    page,
    helloUs,
    rssMb,
  }: {
    of: Parameters<Scenario>[0];
    list: string;
    page: string;
    helloUs: number[];
    rssMb: number;
  },
): Figure {
  const timings = timed.flatMap((one) => one.timings);
  const tookMs = timings.map(({ wallMs }) => wallMs);
  const seconds = tookMs.reduce((sum, ms) => sum + ms, 0) / 1_000;
  const sum = (of: (timing: (typeof timings)[number]) => number) =>
    timings.reduce((total, timing) => total + of(timing), 0) * 1_000;
  const server = sum(({ serverMs }) => serverMs);
  const cpu = { server, database: sum(({ cpuMs }) => cpuMs) - server };
  const slowest = timed.map(({ timings }) => median(timings.map(({ wallMs }) => wallMs)));
  const more = { queries: timed.length, 'over 300 ms': slowest.filter((ms) => ms > 300).length };
  return pointOf({ of, scenario: `list of ${list}, ${page}`, tookMs, seconds, cpu, helloUs, rssMb, more });
}
