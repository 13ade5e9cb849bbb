import fc from 'fast-check';
import { checkInvariants } from './renewal-invariants.ts';
import { type Act, distinct, explain, type Model } from './renewal-model.ts';
import { agrees, type Exchange, type World } from './renewal-world.ts';

export interface Possible {
  models: Model[];
  /** How often each invariant could have failed, over all runs. */
  seen: Map<string, number>;
}

/** An act, before its tokens are chosen. */
export type Plan =
  | { do: 'renew'; age: number | 'ahead'; machine: 0 | 1 | 2 | null; requestId: string | null }
  | { do: 'revoke' }
  | { do: 'rebind' };

const REQUEST_IDS = ['01900000-0000-4000-8000-000000000001', '01900000-0000-4000-8000-000000000002'];
const DAY_MS = 86_400_000;

const renewal: fc.Arbitrary<Plan> = fc.record({
  do: fc.constant('renew' as const),
  /** Counted from the newest token: honest agents use new ones, thieves and restored hosts old ones. */
  age: fc.oneof(
    { weight: 16, arbitrary: fc.constantFrom(0, 1) },
    { weight: 4, arbitrary: fc.nat(5) },
    { weight: 1, arbitrary: fc.constant('ahead' as const) },
  ),
  machine: fc.oneof(
    { weight: 10, arbitrary: fc.constant(0 as const) },
    fc.constantFrom(1 as const, 2 as const, null),
  ),
  requestId: fc.constantFrom(null, ...REQUEST_IDS),
});
const revocation: fc.Arbitrary<Plan> = fc.constant({ do: 'revoke' });
const rebind: fc.Arbitrary<Plan> = fc.constant({ do: 'rebind' });

/** All possible acts, alone or concurrent. */
export const plan: fc.Arbitrary<Plan> = fc.oneof(
  { weight: 16, arbitrary: renewal },
  { weight: 1, arbitrary: revocation },
  { weight: 2, arbitrary: rebind },
);

export const commands = fc.commands<Possible, World, false>(
  [
    fc.record({ one: plan, fault: fault() }).map(({ one, fault }) => {
      const shown = `${JSON.stringify(one)}${fault === 'none' ? '' : ` with ${fault}`}`;
      return command(shown, (possible, world) => perform(world, possible, { plans: [one], fault }));
    }),
    fc
      .array(plan, { minLength: 2, maxLength: 4 })
      .map((plans) =>
        command(`at once ${JSON.stringify(plans)}`, (possible, world) => perform(world, possible, { plans })),
      ),
    fc
      .constantFrom(1, 45, 90)
      .map((days) => command(`wait ${days} days`, async (_, world) => world.advance(days * DAY_MS))),
    fc.constant(
      command('restart', (possible, world) => perform(world, possible, { plans: [], restarted: true })),
    ),
  ],
  // A few runs have histories of full length; thousands of runs reach them anyway.
  { maxCommands: 14, size: process.env.TIDEGATE_LONG === '1' ? 'medium' : 'max' },
);

function command(
  shown: string,
  run: (possible: Possible, world: World) => Promise<void>,
): fc.AsyncCommand<Possible, World, false> {
  return { check: () => true, run, toString: () => shown };
}

function fault(): fc.Arbitrary<'none' | 'limit' | 'database'> {
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant('none' as const) },
    fc.constantFrom('limit' as const, 'database' as const),
  );
}

interface Doing {
  plans: readonly Plan[];
  fault?: 'none' | 'limit' | 'database';
  restarted?: boolean;
  /** Lets a scheduler order concurrent acts. */
  lead?: (done: Promise<Exchange[]>) => Promise<Exchange[]>;
}

/** Runs the act, feeds the answers to the model, and checks every invariant. */
export async function perform(world: World, possible: Possible, doing: Doing): Promise<void> {
  const { plans, fault = 'none', restarted = false, lead = (done) => done } = doing;
  const before = await world.observe();
  if (restarted) world.restart();
  const acts = plans.map((one) => actOf(world, one));
  const exchanges = await lead(
    Promise.all(acts.map(async (act) => ({ act, answer: await world.act(act, fault) }))),
  );
  const after = await world.observe();
  possible.models = modelsAfter(possible.models, { exchanges, fault, world });
  const { models } = possible;
  await checkInvariants({ world, exchanges, restarted, before, after, models }, possible.seen);
  possible.models = models.filter((model) => agrees(model, after));
}

function modelsAfter(
  models: readonly Model[],
  { exchanges, fault, world }: { exchanges: readonly Exchange[]; fault: string; world: World },
): Model[] {
  const [only] = exchanges;
  // Rows 1 and 14: neither the limit nor the database decides about a token. The limit is that of renewal.
  if (fault === 'database' && only) return only.answer.status === 503 ? [...models] : [];
  if (fault === 'limit' && only?.act.do === 'renew') return only.answer.status === 429 ? [...models] : [];
  const pairs = exchanges.map(({ act, answer }) => [act, answer] as const);
  return distinct(models.flatMap((model) => explain(model, pairs, world.terms())));
}

function actOf(world: World, one: Plan): Act {
  if (one.do !== 'renew') return one;
  const { age, machine, requestId } = one;
  const newestFirst = [...world.issued.keys()].reverse();
  const ahead = age === 'ahead';
  const token = ahead ? world.aheadToken() : newestFirst[Math.min(age, newestFirst.length - 1)];
  if (token === undefined) throw new Error('an agent has a token from the start');
  return { do: 'renew', token, machine: machine === null ? null : world.machines[machine], requestId, ahead };
}
