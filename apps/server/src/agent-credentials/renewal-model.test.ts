import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AgentsApp, call, createAgentsApp, enrol, renewal } from '../testing/agents-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { REFRESH_TOKEN_LIFETIME_MS } from './refresh-tokens.ts';

/** The long lane looks longer; a few runs are enough to catch a broken rule. */
const RUNS = process.env.TIDEGATE_LONG === '1' ? 1_000 : 25;
const REQUEST_IDS = ['01900000-0000-4000-8000-000000000001', '01900000-0000-4000-8000-000000000002'];

/** What the specification says of one family, without a database: section 3 in thirty lines. */
interface Model {
  revoked: boolean;
  machine: string | null;
  current: string;
  previous: string | null;
  graceUsed: boolean;
  lastRequestId: string | null;
  issuedAtMs: ReadonlyMap<string, number>;
  reuses: number;
}

interface Ask {
  token: string;
  machine: string | null;
  requestId: string | null;
}

interface Answer {
  status: number;
  child: string | null;
}

/** The model after the answer; null where the model would have answered otherwise. */
function step(model: Model, ask: Ask, answer: Answer, nowMs: number): Model | null {
  const same = (status: number) => (answer.status === status ? model : null);
  if (model.revoked) return same(401);
  if (ask.machine === null || (model.machine !== null && model.machine !== ask.machine)) return same(403);
  const live = ask.token === model.current || ask.token === model.previous;
  const age = nowMs - (model.issuedAtMs.get(ask.token) ?? nowMs);
  if (live && age >= REFRESH_TOKEN_LIFETIME_MS) return same(401);
  const graceOf = ask.token === model.previous && !model.graceUsed;
  if (ask.token !== model.current && !graceOf) {
    return answer.status === 401 ? { ...model, revoked: true, reuses: model.reuses + 1 } : null;
  }
  const { child } = answer;
  if (answer.status !== 200 || child === null) return null;
  const bound = { ...model, machine: ask.machine };
  const again = graceOf && ask.requestId !== null && ask.requestId === model.lastRequestId;
  if (again) return child === model.current ? { ...bound, graceUsed: true } : null;
  if (model.issuedAtMs.has(child)) return null;
  const issuedAtMs = new Map(model.issuedAtMs).set(child, nowMs);
  if (graceOf) return { ...bound, current: child, graceUsed: true, issuedAtMs };
  return {
    ...bound,
    previous: ask.token,
    current: child,
    graceUsed: false,
    lastRequestId: ask.requestId,
    issuedAtMs,
  };
}

/** Invariant 10: answers given at once must equal some serial order. All models that such an order leads to. */
function explain(model: Model, pairs: readonly [Ask, Answer][], nowMs: number): Model[] {
  if (pairs.length === 0) return [model];
  return pairs.flatMap(([ask, answer], i) => {
    const after = step(model, ask, answer, nowMs);
    return after ? explain(after, pairs.toSpliced(i, 1), nowMs) : [];
  });
}

const ask = fc.record({
  /** Counted from the newest token: honest agents use new ones, thieves and restored hosts old ones. */
  age: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(0, 1) }, fc.nat(5)),
  machine: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, fc.constantFrom(1, null)),
  requestId: fc.constantFrom(null, ...REQUEST_IDS),
});
const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('renew' as const),
      asks: fc.array(ask, { minLength: 1, maxLength: 1 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('renew' as const),
      asks: fc.array(ask, { minLength: 2, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), days: fc.constantFrom(1, 45, 90) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rebind' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('revoke' as const) }) },
);

describe.each(ENGINES)('the model of refresh-token families on $name', (engine) => {
  test('any history of renewals, waits, rebinds and revocations answers as the model does (section 3)', async () => {
    const it = createAgentsApp(await engine.open());
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 14 }), async (actions) => {
        run++;
        const machines = [`machine-${run}-a`, `machine-${run}-b`];
        const agent = await enrol(it, machines[0]);
        const start: Model = {
          revoked: false,
          machine: agent.machineId,
          current: agent.refresh_token,
          previous: null,
          graceUsed: false,
          lastRequestId: null,
          issuedAtMs: new Map([[agent.refresh_token, it.platform.now()]]),
          reuses: 0,
        };
        let models = [start];
        for (const one of actions) {
          switch (one.do) {
            case 'wait':
              it.platform.clock.advance(one.days * 86_400_000);
              break;
            case 'revoke':
              await call(it, 'POST', `/api/v1/agents/${agent.agent_id}/revoke`, { token: 'admin' });
              models = models.map((model) => ({ ...model, revoked: true }));
              break;
            case 'rebind': {
              const url = `/api/admin/agents/${agent.agent_id}/rebind-machine-id`;
              const body = { reason: 'test' };
              const { status } = await call(it, 'POST', url, { token: 'admin', body });
              models = models.filter((model) => status === (model.revoked ? 409 : 200));
              models = models.map((model) => (model.revoked ? model : { ...model, machine: null }));
              break;
            }
            case 'renew': {
              const issued = [...(models[0]?.issuedAtMs.keys() ?? [])].reverse();
              const asks = one.asks.map(({ age, machine, requestId }) => ({
                token: issued[Math.min(age, issued.length - 1)] ?? '',
                machine: machine === null ? null : (machines[machine] ?? null),
                requestId,
              }));
              const answers = await Promise.all(asks.map((a) => renew(it, a)));
              const pairs = asks.map((a, i): [Ask, Answer] => [a, answers[i] ?? { status: 0, child: null }]);
              const nowMs = it.platform.now();
              const after = models.flatMap((model) => explain(model, pairs, nowMs));
              if (after.length === 0)
                throw new Error(`no order explains ${JSON.stringify({ models, pairs })}`);
              models = after;
            }
          }
          const reuses = await reusesOf(it, agent.agent_id);
          models = models.filter((model) => model.reuses === reuses);
          expect(models).not.toEqual([]);
        }
      }),
      { numRuns: RUNS },
    );
  }, 600_000);
});

async function renew(it: AgentsApp, { token, machine, requestId }: Ask): Promise<Answer> {
  const { status, body } = await renewal(it, token, {
    machineId: machine,
    ...(requestId === null ? {} : { requestId }),
  });
  return { status, child: status === 200 ? body.refresh_token : null };
}

async function reusesOf(it: AgentsApp, agentId: string): Promise<number> {
  const { read } = it.platform.database;
  const rows = await read
    .selectFrom('events')
    .select('id')
    .where('agent_id', '=', agentId)
    .where('type', '=', 'REFRESH_TOKEN_REUSE')
    .execute();
  return rows.length;
}
