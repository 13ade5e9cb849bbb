import { SEED } from '@tidegate/testkit/seed';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { commands } from '../testing/renewal-commands.ts';
import { INVARIANTS } from '../testing/renewal-invariants.ts';
import { createRenewalStage, createWorld } from '../testing/renewal-world.ts';

/** The long lane runs 10,000 over both engines, with the interleavings; a few are enough to catch a broken rule. */
const LONG = process.env.TIDEGATE_LONG === '1';
const RUNS = { sqlite: LONG ? 4_000 : 40, postgres: LONG ? 2_000 : 20 };
const TIMEOUT_MS = 1_800_000;

describe.each(ENGINES)('the model of refresh-token families on $name', (engine) => {
  function announce(what: string, runs: number): fc.Parameters<unknown> {
    process.stderr.write(`${what} on ${engine.name}: ${runs} runs of TIDEGATE_SEED=${SEED}\n`);
    return { numRuns: runs, seed: SEED, endOnFailure: !LONG };
  }

  test(
    'any history answers and stores the same as the model; invariants 1 to 6, 9 to 11, 13 and 14 hold at each step',
    async () => {
      const stage = await createRenewalStage(await engine.open());
      const seen = new Map<string, number>();
      await fc.assert(
        fc.asyncProperty(commands, async (history) => {
          await fc.asyncModelRun(async () => {
            const { world, model } = await createWorld(stage);
            return { model: { models: [model], seen }, real: world };
          }, history);
        }),
        announce('renewal model', RUNS[engine.name]),
      );
      // Every invariant was exercised at least once; a short run cannot promise that.
      const idle = Object.keys(INVARIANTS).filter((number) => !seen.has(number));
      expect(LONG ? idle : []).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
