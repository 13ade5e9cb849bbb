import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseFault } from '../platform/db/engine.ts';
import { lostRace } from '../platform/db/postgres.ts';
import { gather, type Rest } from '../platform/gather.ts';
import { Refusal } from '../platform/http/refusal.ts';
import {
  factsOf,
  type Renewal,
  type RenewalDeps,
  type RenewalOutcome,
  type RenewalRequest,
  renewed,
  renewTokens,
} from './renew-tokens.ts';
import { classOfPresented } from './renewal-facts.ts';
import { decideRenewal } from './renewal-rules.ts';
import { rotationOf } from './rotate-family.ts';
import { lockFreeFamilies, rotateFamilies } from './store.ts';

/** Most renewals of one transaction. */
const TOGETHER_MAX = 64;
/** Transactions of several renewals at once: one reads and writes while the other one waits for its commit. */
const IN_FLIGHT_MAX = 2;
/** Least time between two commits of few renewals, in milliseconds: a busy fleet's come one at a time, every few milliseconds. */
const REST_MS = 20;
/** As many do not wait for more. */
const ENOUGH = 16;

const NOBODY = { detail: 'The client has closed its connection.', retryAfterSeconds: 1 };

interface Waiting {
  readonly request: Renewal;
  readonly resolve: (outcome: RenewalOutcome | Promise<RenewalOutcome>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Creates the renewals (E1) of a server, each as by `renewTokens`. Those of one moment share a commit, because the wait for
 * the disk is what costs. On SQLite each has a transaction of its own, which the connection groups. On PostgreSQL they share
 * one: it rotates the plain ones and leaves every other one to a transaction of its own, as it leaves families and agents
 * that others have locked. One that nobody waits for any more changes nothing: its host would not know of the new token, and
 * a host that does not learn of two in a row has to be enrolled again. It rejects with a Refusal that nobody reads.
 */
export function createRenewals(
  deps: RenewalDeps,
  over: Rest['over'] = () => pause(REST_MS),
): (request: RenewalRequest) => Promise<RenewalOutcome> {
  const { platform } = deps;
  const isGrouped = platform.database.engine === 'sqlite';
  const add = gather<Waiting>({
    most: TOGETHER_MAX,
    inFlightMax: IN_FLIGHT_MAX,
    rest: { over, enough: ENOUGH },
    async run(batch) {
      const { awaited = [], gone = [] } = Object.groupBy(batch, ({ request }) =>
        request.isAwaited?.() === false ? 'gone' : 'awaited',
      );
      for (const { reject } of gone) reject(new Refusal('unavailable', NOBODY));
      if (awaited.length > 0) await (isGrouped ? renewEach(deps, awaited) : renewBatch(deps, awaited));
    },
  });
  return (request) =>
    new Promise((resolve, reject) =>
      add({ request: { ...request, nowMs: platform.now() }, resolve, reject }),
    );
}

/** Renews each in a transaction of its own; never rejects. */
async function renewEach(deps: RenewalDeps, batch: readonly Waiting[]): Promise<void> {
  await Promise.all(
    batch.map(({ request, resolve, reject }) => renewTokens(deps, request).then(resolve, reject)),
  );
}

/** Ends each wait of the batch; never rejects. */
async function renewBatch(deps: RenewalDeps, batch: readonly Waiting[]): Promise<void> {
  const alone = ({ request, resolve }: Waiting) => resolve(renewTokens(deps, request));
  if (batch.length === 1) return batch.forEach(alone);
  const progress = { isWorkDone: false };
  try {
    const outcomes = await rotateTogether(deps, batch, progress);
    for (const one of batch) {
      const outcome = outcomes.get(one);
      if (outcome === undefined) alone(one);
      else one.resolve(outcome);
    }
  } catch (error) {
    // Repeated only if nothing was committed for sure: a repeat of a renewal uses up its grace.
    const isUndone = lostRace(error) || !(progress.isWorkDone || error instanceof DatabaseFault);
    for (const one of batch) {
      if (isUndone) alone(one);
      else one.reject(error);
    }
  }
}

/** Rotates what is plain in one transaction. What is missing in the result was neither judged nor changed. */
async function rotateTogether(
  deps: RenewalDeps,
  batch: readonly Waiting[],
  progress: { isWorkDone: boolean },
): Promise<ReadonlyMap<Waiting, RenewalOutcome>> {
  // One for each family: a second one is judged after the first.
  const byFamily = new Map(batch.toReversed().map((one) => [one.request.token.familyId, one]));
  return deps.platform.database.transact(async (tx) => {
    progress.isWorkDone = false;
    const families = await lockFreeFamilies(tx, [...byFamily.keys()]);
    const agentIds = families.map((family) => family.agent_id);
    const agents = await deps.directory.lockFreeBindings(tx, agentIds);
    const rotations: Parameters<typeof rotateFamilies>[1][number][] = [];
    const outcomes = new Map<Waiting, RenewalOutcome>();
    for (const family of families) {
      const one = byFamily.get(family.id);
      const agent = agents.get(family.agent_id);
      if (!one || !agent) continue;
      const { request } = one;
      const token = classOfPresented(family, { ...request, tagKey: deps.tagKey });
      const verdict = decideRenewal({
        ...factsOf(deps, { family, agent, request, token }),
        resyncOpen: false,
      });
      if (verdict.do !== 'rotate' || verdict.bind) continue;
      const made = rotationOf(deps, { family, presented: request, seq: family.cur_seq + 1 });
      rotations.push({ familyId: family.id, fromHash: family.cur_hash, rotation: made.rotation });
      outcomes.set(one, renewed(family, made.child, deps.familyMaxAgeMs));
    }
    if (rotations.length > 0 && (await rotateFamilies(tx, rotations)) !== rotations.length) {
      throw new Error('a family changed while its row was locked');
    }
    progress.isWorkDone = true;
    return outcomes;
  });
}
