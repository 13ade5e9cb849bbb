import { randomUUID } from 'node:crypto';
import { SEED } from '@tidegate/testkit/seed';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createRenewalStage, createWorld, type RenewalStage, type World } from '../testing/renewal-world.ts';
import { REFRESH_TOKEN_LIFETIME_MS } from './refresh-tokens.ts';

const RUNS = process.env.TIDEGATE_LONG === '1' ? 500 : 15;
const TIMEOUT_MS = 900_000;

/** What can happen to one generation of an honest agent's tokens. */
const FAULTS = [
  'none',
  'lost reply',
  'crash before save',
  'sent twice',
  'limited',
  'database',
  'server restart',
];

describe.each(ENGINES)('holders of refresh tokens, on $name', (engine) => {
  function announce(what: string): fc.Parameters<unknown> {
    process.stderr.write(`${what} on ${engine.name}: ${RUNS} runs of TIDEGATE_SEED=${SEED}\n`);
    return { numRuns: RUNS, seed: SEED };
  }

  test(
    'invariant 7: an honest agent with one fault in each generation is never revoked',
    async () => {
      const stage = await createRenewalStage(await engine.open());
      const lives = fc.array(fc.record({ fault: fc.constantFrom(...FAULTS), hasId: fc.boolean() }), {
        minLength: 1,
        maxLength: 10,
      });
      await fc.assert(
        fc.asyncProperty(lives, async (generations) => {
          const { world } = await createWorld(stage);
          let token = world.agent.refresh_token;
          for (const { fault, hasId } of generations)
            token = await liveThrough(world, { token, fault, hasId });
          const { family, agent, events } = await world.observe();
          expect([family.status, agent.status]).toEqual(['active', 'active']);
          expect(events.REFRESH_TOKEN_REUSE).toBeUndefined();
        }),
        announce('honest agents'),
      );
    },
    TIMEOUT_MS,
  );

  test(
    'invariant 8: when two hold one token, the family ends at the latest when the displaced one renews again',
    async () => {
      const stage = await createRenewalStage(await engine.open());
      const thefts = fc.record({
        before: fc.nat(3),
        /** Order of turns: both renew three times, and never learn of each other. */
        turns: fc.shuffledSubarray([0, 0, 0, 1, 1, 1], { minLength: 6, maxLength: 6 }),
        /** The thief also copied the id of a pending request. */
        isIdStolen: fc.boolean(),
        hasIds: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(thefts, async (theft) => expectDetected(stage, theft)),
        announce('thefts'),
      );
    },
    TIMEOUT_MS,
  );

  test('invariant 12: expiry depends on the server’s clock alone, not on any date that an agent claims', async () => {
    const stage = await createRenewalStage(await engine.open());
    const { world } = await createWorld(stage);
    const [{ app }] = stage.apps;
    const send = (token: string, date: string) =>
      app.inject({
        method: 'POST',
        url: '/api/v1/agents/renew',
        headers: { 'x-machine-id': world.machines[0], date },
        payload: { refresh_token: token },
      });
    let token = world.agent.refresh_token;
    const years = 365 * 5 * 86_400_000;
    for (const offsetMs of [-years, 0, years]) {
      world.advance(REFRESH_TOKEN_LIFETIME_MS / 3);
      const { nowMs } = world.terms();
      const answer = await send(token, new Date(nowMs + offsetMs).toUTCString());
      expect(answer.statusCode).toBe(200);
      expect(Date.parse(answer.json().refresh_expires_at)).toBe(nowMs + REFRESH_TOKEN_LIFETIME_MS);
      token = answer.json().refresh_token;
    }
    world.advance(REFRESH_TOKEN_LIFETIME_MS);
    const early = new Date(world.terms().nowMs - years).toUTCString();
    expect((await send(token, early)).statusCode).toBe(401);
    expect((await world.observe()).family.status).toBe('active');
  });
});

/** One generation: the id of the request is saved before it is sent, the token after its answer. */
async function liveThrough(
  world: World,
  { token, fault, hasId }: { token: string; fault: string; hasId: boolean },
): Promise<string> {
  const act = {
    do: 'renew',
    token,
    machine: world.machines[0],
    requestId: hasId ? randomUUID() : null,
    ahead: false,
  } as const;
  if (fault === 'lost reply' || fault === 'crash before save') await world.act(act);
  if (fault === 'server restart') {
    await world.act(act);
    world.restart();
  }
  if (fault === 'limited') expect((await world.act(act, 'limit')).status).toBe(429);
  if (fault === 'database') expect((await world.act(act, 'database')).status).toBe(503);
  // A proxy that retries a request sends the same bytes: with an id, or the agent would not be honest.
  const copies = fault === 'sent twice' ? 2 : 1;
  const requestId = copies === 2 ? (act.requestId ?? randomUUID()) : act.requestId;
  const answers = await Promise.all(Array.from({ length: copies }, () => world.act({ ...act, requestId })));
  const children = new Set(answers.map(({ status, child }) => (status === 200 ? child : `status ${status}`)));
  expect(children.size).toBe(1);
  return answers[0]?.child ?? '';
}

interface Theft {
  before: number;
  turns: readonly number[];
  isIdStolen: boolean;
  hasIds: boolean;
}

async function expectDetected(stage: RenewalStage, theft: Theft): Promise<void> {
  const { world } = await createWorld(stage);
  let shared = world.agent.refresh_token;
  const machine = world.machines[0];
  const renew = (token: string, requestId: string | null) =>
    world.act({ do: 'renew', token, machine, requestId, ahead: false });
  for (let i = 0; i < theft.before; i++) shared = (await renew(shared, null)).child ?? '';
  const stolenId = randomUUID();
  const holders = [0, 1].map(() => ({ token: shared, renewals: 0, isDisplaced: false }));
  for (const turn of theft.turns) {
    const [holder, other] = turn === 0 ? holders : holders.toReversed();
    if (!holder || !other) throw new Error('there are two of them');
    const isFirst = holder.renewals === 0;
    const ownId = theft.hasIds ? randomUUID() : null;
    const before = await world.observe();
    const answer = await renew(holder.token, isFirst && theft.isIdStolen ? stolenId : ownId);
    holder.renewals++;
    if (holder.isDisplaced) expect(answer.status).toBe(401);
    const graces = (await world.observe()).events.REFRESH_GRACE_USED ?? 0;
    const displaced = graces > (before.events.REFRESH_GRACE_USED ?? 0) && answer.child !== other.token;
    if (displaced) other.isDisplaced = true;
    if (answer.child !== null) holder.token = answer.child;
  }
  const { family, events } = await world.observe();
  expect(family.status).toBe('revoked');
  expect(events.REFRESH_TOKEN_REUSE).toBe(1);
}
