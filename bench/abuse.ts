import { benchHostileFleet, type HostileFigures } from './hostile-fleet.ts';
import { REFUSAL_MAX_US, type RefusedFigures, timeRefusals } from './refused-requests.ts';
import type { BenchOptions } from './run.ts';

/** What hostile clients cost: each refused request by route. The run fails if one costs more than REFUSAL_MAX_US. */
export async function benchAbuse(
  options: BenchOptions,
): Promise<{ refused: RefusedFigures; hostileFleet: HostileFigures }> {
  const refused = await timeRefusals(options);
  if (refused.tooExpensive > 0) {
    options.say(
      `${refused.tooExpensive} of ${refused.cases} refused requests cost more than ${REFUSAL_MAX_US} µs`,
    );
    process.exitCode = 1;
  }
  return { refused, hostileFleet: await benchHostileFleet(options) };
}
