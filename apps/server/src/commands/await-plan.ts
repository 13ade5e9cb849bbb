import { COMMAND_MAX_BYTES, type PlannedUpdate } from '@tidegate/protocol/documents';
import type { PolicyReference } from '@tidegate/protocol/policies-api';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type LockedUpdate, lockUpdates } from '../updates/lock-updates.ts';
import { plansOfSets } from '../updates/many-store.ts';
import { openVersionsOf, rivalsOf } from '../updates/rivals-store.ts';
import { findRollback } from '../updates/rollbacks-store.ts';
import type { UpdateRow } from '../updates/store.ts';
import { transitionHeld } from '../updates/transition-update.ts';
import { setDigest } from '../updates/update-set.ts';
import { awaitedSetsOf, putAwaited } from './awaited-store.ts';
import { cancelCommandsOfUpdates } from './cancel-commands.ts';
import { queueCommand } from './queue-command.ts';

/** For the other members of a command and its signatures. */
const COMMAND_RESERVE_BYTES = 16 * 1024;

/** The approval of a set of updates of one host, ecosystem and place, which waits for its plan. */
export interface Awaited {
  readonly updates: readonly UpdateRow[];
  /** The operator who is accountable, and since when. */
  readonly askedBy: string;
  /** The policy that asks in that operator's name; null: the operator does. */
  readonly policy: PolicyReference | null;
  /** The event of the bulk request by which they wait; null: of no such request. */
  readonly bulkId: string | null;
  readonly askedAtMs: number;
  /** How often flagged updates were left out of the set. */
  readonly round: number;
  /** Who moves the updates: that operator, `sweep` or `scan`. */
  readonly actor: string;
  /** Null: as each update says. */
  readonly notBeforeMs: number | null;
}

/**
 * Lets the updates that are open wait for their plan as one set, each package in one version, and requests it from the agent unless it is there
 * (reading 5): the sweep continues with it. Asking again for the same set changes nothing. A set whose
 * request would be too long is halved. Returns the ids of those that wait.
 */
export async function awaitPlan(
  tx: Tx,
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  awaited: Awaited,
): Promise<string[]> {
  const { askedBy, askedAtMs, round, actor, notBeforeMs, policy, bulkId } = awaited;
  const by = { policy_id: policy?.policy_id ?? null, policy_sha256: policy?.sha256 ?? null, bulk_id: bulkId };
  const named = awaited.updates.map(({ id }) => id);
  const beside = await openVersionsOf(tx, named);
  const { engine } = platform.database;
  const locked = await lockUpdates(tx, { engine, updateIds: [...new Set([...named, ...beside])] });
  // Of two versions of one package one is approved: the one that was asked for first.
  const rivals = await rivalsOf(tx, named);
  const open = awaited.updates
    .flatMap((update) => {
      const held = locked.get(update.id);
      if (!held || !isOpen(held) || (held.state === 'pending' && rivals.has(update.id))) return [];
      return [{ update, held }];
    })
    .toSorted((a, b) => (a.update.id < b.update.id ? -1 : 1));
  if (isTooLong(open.map(({ update }) => update))) {
    const middle = Math.ceil(open.length / 2);
    const waiting: string[] = [];
    for (const half of [open.slice(0, middle), open.slice(middle)]) {
      const updates = half.map(({ update }) => update);
      waiting.push(...(await awaitPlan(tx, platform, { ...awaited, updates })));
    }
    return waiting;
  }
  const ids = open.map(({ update }) => update.id);
  const set_sha256 = setDigest(ids);
  const before = await awaitedSetsOf(tx, ids);
  if (ids.length === 0 || ids.every((id) => before.get(id) === set_sha256)) return ids;

  // A plan of other sets with these updates is of no use any more.
  await cancelCommandsOfUpdates(tx, platform, { updateIds: [...before.keys()], reason: 'asked_anew' });
  await transitionHeld(
    tx,
    platform,
    open.flatMap(({ update, held }) =>
      held.state === 'pending'
        ? [
            {
              ...{ updateId: update.id, from: 'pending', to: 'awaiting_plan', reason: null, actor },
              ...{ approvalId: held.approval_id, notBefore: notBeforeMs },
            },
          ]
        : [],
    ),
  );
  await putAwaited(
    tx,
    ids.map((update_id) => ({ update_id, set_sha256, asked_by: askedBy, asked_at: askedAtMs, round, ...by })),
  );
  const [plan] = await plansOfSets(tx, [
    open.map(({ held, update: { id } }) => ({ id, plan_id: held.plan_id })),
  ]);
  if (plan === undefined)
    await requestPlan(tx, platform, { updates: open.map(({ update }) => update), actor });
  return ids;
}

/** Whether a request for the plan of these would be longer than an agent takes: its payload travels in base64. */
function isTooLong(updates: readonly UpdateRow[]): boolean {
  const bytes = Buffer.byteLength(JSON.stringify(updates.map(plannedUpdate)));
  return updates.length > 1 && (bytes * 4) / 3 + COMMAND_RESERVE_BYTES > COMMAND_MAX_BYTES;
}

function isOpen({ state }: LockedUpdate): boolean {
  return state === 'pending' || state === 'awaiting_plan';
}

async function requestPlan(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { updates, actor }: { updates: readonly UpdateRow[]; actor: string },
): Promise<void> {
  const [first] = updates;
  if (!first) return;
  const { agent_id: agentId, ecosystem } = first;
  const rollback = first.rollback_of === null ? null : await findRollback(tx, first.id);
  // Nobody knows what it would undo: no plan is better than any.
  if (first.rollback_of !== null && rollback === null) return;
  const undo = rollback && { undo: [...rollback.actions] };
  const params = { ecosystem, updates: updates.map(plannedUpdate), ...undo };
  await queueCommand(tx, platform, { agentId, action: 'plan_update', params, createdBy: actor });
}

function plannedUpdate(update: UpdateRow): PlannedUpdate {
  return {
    update_id: update.id,
    name: update.name,
    ...(update.arch ? { arch: update.arch } : {}),
    to_version: update.available_version,
  };
}
