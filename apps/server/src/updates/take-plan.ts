import type { PlanReport } from '@tidegate/protocol/agent-api';
import { bundleFaults } from '@tidegate/protocol/bundles';
import { APPROVAL_MAX_UPDATES } from '@tidegate/protocol/documents';
import { missedTargets, type Plan, type PlanFault, planFaults } from '@tidegate/protocol/plan';
import type { RollbackAction } from '@tidegate/protocol/rollbacks';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { chargeReport } from '../outsiders/charge.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { LargeWork } from '../platform/http/large-work.ts';
import type { Platform } from '../platform/platform.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { takeTurn } from '../platform/turns.ts';
import { recordFirstSeen } from '../release-times/record-first-seen.ts';
import { findUpdates } from './many-store.ts';
import { rollbackFaults } from './rollback-rules.ts';
import { findRollback } from './rollbacks-store.ts';
import type { UpdateRow } from './store.ts';
import { canonicalPlan, storePlan } from './store-plan.ts';
import { managerOf, targetOf } from './update-set.ts';

/** A plan of more actions is large and waits in the queue of large work. */
const LARGE_PLAN_ACTIONS = 500;
/** Updates that a fault names. */
const NAMED_MAX = 3;

export interface PlanDeps {
  readonly platform: Platform;
  readonly large: Pick<LargeWork, 'admit'>;
}

export type PlanOutcome =
  | { readonly kind: 'stored'; readonly planSha256: string }
  /** One of the updates does not exist, or is another agent's. */
  | { readonly kind: 'not_found' }
  | { readonly kind: 'unsound'; readonly faults: readonly PlanFault[] };

/**
 * Takes a plan and the sets of updates that it brings from their agent, in one transaction: charged to the agent,
 * stored, and noted in the ledger of the fleet. A large plan waits for its turn; one that finds no room throws the
 * Refusal `unavailable` and is not charged, for it comes again.
 */
export async function takePlan(
  { platform, large }: PlanDeps,
  { agentId, report: { sets, plan } }: { agentId: string; report: PlanReport },
): Promise<PlanOutcome> {
  const faults = [...planFaults(plan).map(inPlan), ...setFaults(sets)];
  if (faults.length > 0) return { kind: 'unsound', faults };
  const { actions } = plan;
  // A body of 1 MiB has taken its time to be read and checked, and its canonical form takes as long.
  await takeTurn();
  const text = canonicalPlan(plan);
  const planSha256 = sha256Hex(text);
  const store = async (): Promise<PlanOutcome> => {
    await chargeReport(platform, { agentId, rows: actions.length, bytes: Buffer.byteLength(text) });
    return platform.database.transact(async (tx): Promise<PlanOutcome> => {
      const named = await readSets(tx, { agentId, sets });
      if (!named) return { kind: 'not_found' };
      const undone = await readUndone(tx, named.flat());
      const wrong = [
        ...faultsOf(named, plan),
        ...undone.flatMap((undo) => rollbackFaults(plan, undo)).map(inPlan),
      ];
      const [first] = named.flat();
      if (wrong.length > 0 || !first) return { kind: 'unsound', faults: wrong };
      const ecosystem = Value.Parse(Ecosystem, first.ecosystem);
      await storePlan(tx, platform, { agentId, ecosystem, sets, plan, planSha256 });
      await recordFirstSeen(tx, platform, { agentId, ecosystem, actions, packages: [] });
      return { kind: 'stored', planSha256 };
    });
  };
  return actions.length > LARGE_PLAN_ACTIONS ? large.admit(agentId, store) : store();
}

/** The schema bounds each set; their sum is bounded here. */
function setFaults(sets: PlanReport['sets']): PlanFault[] {
  const faults: PlanFault[] = [];
  const total = sets.reduce((sum, set) => sum + set.length, 0);
  if (total > APPROVAL_MAX_UPDATES) {
    faults.push({
      path: '/sets',
      message: `name ${total} updates; allowed: at most ${APPROVAL_MAX_UPDATES}`,
    });
  }
  for (const [i, set] of sets.entries()) {
    if (new Set(set).size < set.length) faults.push({ path: `/sets/${i}`, message: 'names an update twice' });
  }
  return faults;
}

/** The rows of each set; null if one is missing or another agent's. */
async function readSets(
  tx: Tx,
  { agentId, sets }: { agentId: string; sets: PlanReport['sets'] },
): Promise<UpdateRow[][] | null> {
  const rows = await findUpdates(tx, [...new Set(sets.flat())]);
  const found = sets.map((set) => set.flatMap((id) => rows.get(id) ?? []));
  const isComplete = found.every((set, i) => set.length === sets[i]?.length);
  return isComplete && [...rows.values()].every((row) => row.agent_id === agentId) ? found : null;
}

/** What each rollback among the updates is to undo; null where nobody knows. */
async function readUndone(tx: Tx, rows: readonly UpdateRow[]): Promise<(readonly RollbackAction[] | null)[]> {
  const rollbacks = rows.filter(({ rollback_of: undone }) => undone !== null);
  const undone: (readonly RollbackAction[] | null)[] = [];
  for (const { id } of rollbacks) undone.push((await findRollback(tx, id))?.actions ?? null);
  return undone;
}

/** A transaction is of one package manager, and in npm and PyPI of one place. */
function faultsOf(sets: readonly UpdateRow[][], plan: Plan): PlanFault[] {
  const rows = sets.flat();
  const managers = new Set(rows.map(managerOf));
  if (managers.size > 1) {
    return [{ path: '/sets', message: 'name updates of several package managers or places; allowed: one' }];
  }
  const ecosystem = Value.Parse(Ecosystem, rows[0]?.ecosystem);
  const missed = sets.flatMap((set, i) => {
    const names = missedTargets(plan, set.map(targetOf)).map(({ name, to_version: to }) => `${name} ${to}`);
    if (names.length === 0) return [];
    const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
    return [
      {
        path: `/sets/${i}`,
        message: `the plan does not bring ${names.slice(0, NAMED_MAX).join(', ')}${more}`,
      },
    ];
  });
  return [...missed, ...bundleFaults({ ecosystem, actions: plan.actions }).map(inPlan)];
}

function inPlan({ path, message }: PlanFault): PlanFault {
  return { path: `/plan${path}`, message };
}
