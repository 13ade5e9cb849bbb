import { REFRESH_TOKEN_LIFETIME_MS } from '../agent-credentials/refresh-tokens.ts';

/** Events that a history of renewals writes, each counted. */
export const COUNTED = [
  'REFRESH_TOKEN_REUSE',
  'REFRESH_GRACE_USED',
  'MACHINE_ID_MISMATCH',
  'MACHINE_BOUND',
  'MACHINE_REBOUND',
  'AGENT_REVOKED',
] as const;
type Counted = (typeof COUNTED)[number];

/** The specification of one agent and its family, without a database: section 3 on a page. */
export interface Model {
  readonly agent: 'active' | 'revoked';
  readonly family: 'active' | 'revoked';
  readonly reason: string | null;
  readonly machine: string | null;
  readonly current: string;
  readonly previous: string | null;
  readonly displaced: string | null;
  readonly graceUsed: boolean;
  /** Of the last rotation, while its child can be reissued. */
  readonly requestId: string | null;
  /** Every issued token of the family, with its time. */
  readonly issuedAtMs: ReadonlyMap<string, number>;
  readonly createdAtMs: number;
  readonly events: Readonly<Record<Counted, number>>;
}

export type Act =
  | { do: 'renew'; token: string; machine: string | null; requestId: string | null; ahead: boolean }
  | { do: 'revoke' }
  | { do: 'rebind' };

export interface Answer {
  status: number;
  /** The new refresh token of a renewal with status 200. */
  child: string | null;
}

export interface Terms {
  nowMs: number;
  maxAgeMs: number;
  /** The machine of another agent. */
  takenMachine: string;
}

/** The model after the answer; null if the model gives a different answer. */
export function step(model: Model, act: Act, answer: Answer, terms: Terms): Model | null {
  switch (act.do) {
    case 'renew':
      return renew(model, act, answer, terms);
    case 'revoke':
      if (answer.status !== 200) return null;
      if (model.agent === 'revoked') return model;
      return noted(
        { ...model, agent: 'revoked', family: 'revoked', reason: model.reason ?? 'operator' },
        'AGENT_REVOKED',
      );
    case 'rebind':
      if (model.agent === 'revoked') return answer.status === 409 ? model : null;
      return answer.status === 200 ? noted({ ...model, machine: null }, 'MACHINE_REBOUND') : null;
  }
}

/** Invariant 10: concurrent answers must equal some serial order. The different models that such orders lead to. */
export function explain(model: Model, pairs: readonly (readonly [Act, Answer])[], terms: Terms): Model[] {
  if (pairs.length === 0) return [model];
  return distinct(
    pairs.flatMap(([act, answer], i) => {
      const after = step(model, act, answer, terms);
      return after ? explain(after, pairs.toSpliced(i, 1), terms) : [];
    }),
  );
}

/** Drops models that equal another: four concurrent answers have 24 orders, most of which end alike. */
export function distinct(models: readonly Model[]): Model[] {
  const keyOf = (model: Model) => JSON.stringify({ ...model, issuedAtMs: [...model.issuedAtMs].toSorted() });
  return [...new Map(models.map((model) => [keyOf(model), model])).values()];
}

type Renewal = Extract<Act, { do: 'renew' }>;

/** The decision table of section 3, row by row; a token neither of the family nor ahead of it is row 2. */
function renew(model: Model, act: Renewal, answer: Answer, terms: Terms): Model | null {
  const refused = (status: number, after: Model) => (answer.status === status ? after : null);
  const { token, machine } = act;
  if (!act.ahead && !model.issuedAtMs.has(token)) return refused(401, model);
  if (model.family === 'revoked') return refused(401, model);
  const differs = machine === null || (model.machine !== null && model.machine !== machine);
  if (differs) return refused(403, noted(model, 'MACHINE_ID_MISMATCH'));
  if (terms.nowMs >= model.createdAtMs + terms.maxAgeMs) return refused(401, model);
  const isCurrent = token === model.current;
  const isGrace = token === model.previous && !model.graceUsed;
  const age = terms.nowMs - (model.issuedAtMs.get(token) ?? terms.nowMs);
  if ((isCurrent || token === model.previous) && age >= REFRESH_TOKEN_LIFETIME_MS) return refused(401, model);
  if (!isCurrent && !isGrace) return refused(401, revoked(model, act));
  if (model.machine === null && machine === terms.takenMachine) {
    return refused(403, noted(model, 'MACHINE_ID_MISMATCH'));
  }
  const bound = model.machine === null ? noted({ ...model, machine }, 'MACHINE_BOUND') : model;
  if (answer.status !== 200 || answer.child === null) return null;
  return isCurrent ? rotated(bound, act, answer.child, terms) : graced(bound, act, answer.child, terms);
}

function revoked(model: Model, { token, ahead }: Renewal): Model {
  let reason = 'superseded';
  if (token === model.previous) reason = 'grace_exhausted';
  else if (token === model.displaced) reason = 'displaced';
  else if (ahead) reason = 'ahead_of_database';
  return noted({ ...model, agent: 'revoked', family: 'revoked', reason }, 'REFRESH_TOKEN_REUSE');
}

function rotated(model: Model, act: Renewal, child: string, { nowMs }: Terms): Model | null {
  if (model.issuedAtMs.has(child)) return null;
  return {
    ...model,
    previous: act.token,
    current: child,
    displaced: null,
    graceUsed: false,
    requestId: act.requestId,
    issuedAtMs: new Map(model.issuedAtMs).set(child, nowMs),
  };
}

/** Section 3.4: the same request gets the same child again, a different one displaces it. */
function graced(model: Model, act: Renewal, child: string, { nowMs }: Terms): Model | null {
  const after = noted({ ...model, graceUsed: true, requestId: null }, 'REFRESH_GRACE_USED');
  const isSame = act.requestId !== null && act.requestId === model.requestId;
  if (isSame) return child === model.current ? after : null;
  if (model.issuedAtMs.has(child)) return null;
  const issuedAtMs = new Map(model.issuedAtMs).set(child, nowMs);
  return { ...after, current: child, displaced: model.current, issuedAtMs };
}

function noted(model: Model, type: Counted): Model {
  return { ...model, events: { ...model.events, [type]: model.events[type] + 1 } };
}
