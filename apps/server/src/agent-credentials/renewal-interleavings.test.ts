import { SEED } from '@tidegate/testkit/seed';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { type Possible, perform, plan } from '../testing/renewal-commands.ts';
import { createRenewalStage, createWorld } from '../testing/renewal-world.ts';

const LONG = process.env.TIDEGATE_LONG === '1';
const RUNS = { sqlite: LONG ? 2_500 : 30, postgres: LONG ? 1_500 : 15 };
const TIMEOUT_MS = 900_000;

describe.each(ENGINES)('renewals at once on $name', (engine) => {
  function announce(what: string, runs: number): fc.Parameters<unknown> {
    process.stderr.write(`${what} on ${engine.name}: ${runs} runs of TIDEGATE_SEED=${SEED}\n`);
    return { numRuns: runs, seed: SEED, endOnFailure: !LONG };
  }

  test(
    'renewals, rebinds and revocations at once, interleaved at each statement, are serialisable (invariant 10)',
    async () => {
      const stage = await createRenewalStage(await engine.open());
      const history = fc.record({
        first: fc.array(plan, { maxLength: 3 }),
        atOnce: fc.array(plan, { minLength: 2, maxLength: 5 }),
        last: fc.array(plan, { maxLength: 2 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.scheduler(), history, async (scheduler, { first, atOnce, last }) => {
          const { world, model } = await createWorld(stage);
          const possible: Possible = { models: [model], seen: new Map() };
          for (const one of first) await perform(world, possible, { plans: [one] });
          stage.stage.scheduler = scheduler;
          try {
            await perform(world, possible, { plans: atOnce, lead: (done) => scheduler.waitFor(done) });
          } finally {
            stage.stage.scheduler = null;
          }
          for (const one of last) await perform(world, possible, { plans: [one] });
        }),
        announce('renewal interleavings', RUNS[engine.name]),
      );
    },
    TIMEOUT_MS,
  );
});
