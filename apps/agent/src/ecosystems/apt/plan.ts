import type { PlanAction } from '@tidegate/protocol/plan';
import type { PlanOutcome, PlanRequest, PlanTarget } from '../ecosystem.ts';
import { soundPlan } from '../sound-plan.ts';
import { toActions } from './actions.ts';
import { addArtifacts, addReplaced, replacedBy, wantedBy } from './add-artifacts.ts';
import { heldReason } from './held.ts';
import type { Parsed, Transaction } from './parse-transaction.ts';
import type { Planner } from './planner.ts';
import { type Resolution, resolveTransaction } from './resolve.ts';
import { installPin, isSafeArgument } from './session.ts';
import { planUndo } from './undo.ts';

/**
 * Resolves updates as one transaction: everything installed, upgraded, downgraded or removed with them, and the hash
 * of every file. Runs unprivileged, without dpkg's lock, and changes nothing.
 */
export async function planUpdates(
  planner: Planner,
  { updates, undo }: PlanRequest,
  resolvedAt: Date,
): Promise<PlanOutcome> {
  if (undo !== undefined) return planUndo(planner, { updates, undo }, resolvedAt);
  const wanted = updates.map(({ name, arch, toVersion: version }) => ({ name, arch, version }));
  if (!wanted.every(isSafeArgument)) {
    return { ok: false, reason: 'apt does not accept this name or version' };
  }
  const fresh = await planner.refresh();
  if (!fresh.ok) return fresh;
  const held = updates.find((target) => isHeld(planner, target));
  if (held !== undefined) {
    return { ok: false, reason: heldReason(held) };
  }

  // The approver sees a downgrade within the closure.
  const request = ['--allow-downgrades', 'install', '--only-upgrade', ...wanted.map(installPin)];
  const resolved = await resolveTransaction(planner.session, request, planner.state());
  if (!resolved.ok) return resolved;
  const unreached = updates.find((target) => !includes(resolved.value.transaction, target));
  if (unreached !== undefined) {
    return { ok: false, reason: `apt does not update ${unreached.name} to ${unreached.toVersion}` };
  }
  const actions = await describeActions(planner, resolved.value);
  if (!actions.ok) return actions;
  for (const target of updates) {
    const percent = await deferredPercent(planner, target);
    if (percent === null) continue;
    const named = `${target.name} ${target.toVersion} is a phased update`;
    const reason = `${named}: it is offered to ${percent} % of hosts so far, and not yet to this one`;
    return { ok: false, reason };
  }
  return soundPlan(actions.value, resolvedAt);
}

/** apt refuses to move what is on hold, and does not name it. */
function isHeld(planner: Planner, { name, arch }: PlanTarget): boolean {
  return planner
    .state()
    .installed.some((one) => one.held && one.name === name && (arch === undefined || one.arch === arch));
}

async function describeActions(
  planner: Planner,
  { transaction, files }: Resolution,
): Promise<Parsed<PlanAction[]>> {
  const { places, installed } = planner.state();
  const bare = toActions(transaction, installed, places);
  if (!bare.ok) return bare;
  const indexes = planner.indexes();
  const read = await indexes.read([...wantedBy(bare.value), ...replacedBy(bare.value)]);
  if (!read.ok) return read;
  const complete = addArtifacts(bare.value, files, indexes);
  if (!complete.ok) return complete;
  const signed = await indexes.withOriginKeys(complete.value);
  return { ok: true, value: addReplaced(signed, { ...indexes, kept: planner.kept }) };
}

/**
 * A distribution may phase a version in by share of hosts; only `apt upgrade` respects that, not `install`. Returns
 * the percentage of a version that this host is not offered yet, else null.
 */
async function deferredPercent(planner: Planner, target: PlanTarget): Promise<number | null> {
  const { name, arch, toVersion: version } = target;
  const percent = planner.indexes().phasedPercent({ name, arch, version });
  if (percent === null || percent >= 100) return null;
  const offered = await planner.offered();
  return offered === null || !includes(offered, target) ? percent : null;
}

/** Whether a transaction brings the update; the architecture may change from `all` to the host's own and back. */
export function includes({ changes }: Transaction, { name, arch, toVersion }: PlanTarget): boolean {
  return changes.some(
    (change) =>
      change.name === name &&
      change.to === toVersion &&
      (arch === undefined || [arch, change.arch].includes('all') || change.arch === arch),
  );
}
