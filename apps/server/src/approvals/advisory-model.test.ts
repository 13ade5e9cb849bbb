import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AdvisoryWorld,
  createAdvisoryWorld,
  PACKAGES,
  QUESTIONS,
  type WorldStart,
} from '../testing/advisory-world.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';

const isLong = process.env.TIDEGATE_LONG === '1';
/** A run on PostgreSQL takes five times as long. */
const RUNS = { sqlite: 25, postgres: 6 } as const;
const LONG = { numRuns: 1e9, interruptAfterTimeLimit: 120_000 };
/** An operator who leaves before any answer, and one who waits for it. */
const WAITS_MS = [5, 30_000] as const;

const which = fc.nat({ max: PACKAGES - 1 });
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      ...{ question: fc.constantFrom(...QUESTIONS), which, waitMs: fc.constantFrom(...WAITS_MS) },
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('pause' as const), turns: fc.integer({ min: 1, max: 60 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('refresh' as const), isAwaited: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('hold' as const, 'letGo' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('learn' as const),
      source: fc.constantFrom('api' as const, 'export' as const),
      which,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('withdraw' as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('api' as const, 'exported' as const),
      mode: fc.constantFrom('up' as const, 'down' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('advance' as const), minutes: fc.constantFrom(1, 16, 25 * 60) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fault' as const) }) },
);
const plot = fc.array(step, { minLength: 4, maxLength: 30 });
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const flags = fc.array(fc.boolean(), { minLength: PACKAGES, maxLength: PACKAGES });
const start: fc.Arbitrary<WorldStart> = fc.record({ inApi: flags, inExport: flags, isPair: flags });

/** Nothing is awaited: queries, answers and snapshots overtake each other freely. */
async function take(world: AdvisoryWorld, one: Step): Promise<unknown> {
  switch (one.do) {
    case 'ask':
      return world.ask(one.question, one.which, one.waitMs);
    case 'pause':
      for (let i = 0; i < one.turns; i++) await turn();
      return null;
    case 'refresh':
      return world.refresh()?.catch(() => undefined) ?? null;
    case 'learn':
      world.learn(one.source, one.which);
      return null;
    case 'withdraw':
      world.withdraw(one.which);
      return null;
    case 'api':
      world.api(one.mode);
      return null;
    case 'exported':
      world.exported(one.mode);
      return null;
    case 'advance':
      world.advance(one.minutes * 60_000);
      return null;
    case 'hold':
    case 'letGo':
    case 'fault':
      world[one.do]();
      return null;
  }
}

describe.each(SAMPLED_ENGINES)(
  'sources, snapshots, answers and questions in any order, on $name',
  (engine) => {
    test.each([1, 50_000])(
      'A1: nothing is minted with a finding of a healthy source, nothing clear is refused, and everything is decided (queue of %i)',
      { timeout: isLong ? 300_000 : 120_000 },
      async (queueMax) => {
        const { begin } = await createAdvisoryWorld(engine, { queueMax });
        let run = 0;
        async function play(first: WorldStart, isHeld: boolean, steps: readonly Step[]): Promise<void> {
          const world = await begin(first, run++);
          if (isHeld) world.hold();
          const underWay: Promise<unknown>[] = [];
          for (const one of steps) {
            const begun = take(world, one);
            if (one.do === 'pause' || (one.do === 'refresh' && one.isAwaited)) await begun;
            else underWay.push(begun);
          }
          world.letGo();
          await Promise.all(underWay);
          await world.settle();
          expect(world.violations.splice(0)).toEqual([]);
        }
        let latest: Promise<void> | null = null;
        await fc.assert(
          fc.asyncProperty(start, fc.boolean(), plot, (...world) => {
            latest = play(...world);
            return latest;
          }),
          isLong ? LONG : { numRuns: RUNS[engine.name] },
        );
        // A run interrupted by the time limit continues: it counts, and needs its database until it ends.
        await latest;
      },
    );
  },
);
