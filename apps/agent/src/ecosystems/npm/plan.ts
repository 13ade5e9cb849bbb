import { bundleFaults } from '@tidegate/protocol/bundles';
import { missedTargets } from '@tidegate/protocol/plan';
import { onePlaceOf, type PlanOutcome, type PlanRequest, type PlanTarget } from '../ecosystem.ts';
import { soundPlan } from '../sound-plan.ts';
import { toActions } from './actions.ts';
import { addArtifacts } from './artifacts.ts';
import { findPlace } from './locations.ts';
import type { Planner } from './planner.ts';
import { addReplaced } from './replaced.ts';
import { resolveWishes } from './resolve.ts';
import { isSafeArgument } from './session.ts';
import { planUndo } from './undo.ts';

/**
 * Resolves updates of one place as one transaction: everything installed, upgraded, downgraded or removed with them,
 * and the hash of every file. Changes nothing and runs no package scripts.
 */
export async function planUpdates(
  planner: Planner,
  request: PlanRequest,
  resolvedAt: Date,
): Promise<PlanOutcome> {
  const { session, places, paths } = planner;
  const { updates, undo } = request;
  const path = onePlaceOf(request);
  if (!path.ok) return path;
  const wishes = updates.map(({ name, toVersion: version }) => ({ name, version }));
  if (!wishes.every(isSafeArgument)) return { ok: false, reason: 'npm does not accept this name or version' };
  const place = findPlace(places, path.value);
  if (place === null) return { ok: false, reason: `${path.value} is not an npm location of this host` };
  if (undo) return planUndo(planner, place, { updates, undo, resolvedAt });
  const resolved = await resolveWishes(session, place, wishes);
  if (!resolved.ok) {
    const { reason, conflicting = [] } = resolved;
    const isNamed = ({ name }: PlanTarget) => conflicting.some((wish) => wish.name === name);
    return { ok: false, reason, conflicting: updates.filter(isNamed) };
  }
  const bare = toActions(place, resolved.value);
  if (!bare.ok) return bare;
  const unreached = missedTargets(
    { actions: bare.value.map(({ action }) => action) },
    updates.map(({ name, toVersion: to_version }) => ({ name, arch: place.path, to_version })),
  );
  if (unreached.length > 0) {
    const names = unreached.map(({ name, to_version: to }) => `${name} to ${to}`).join(', ');
    const isNamed = ({ name }: PlanTarget) => unreached.some((target) => target.name === name);
    return {
      ok: false,
      reason: `npm does not update ${names}`,
      conflicting: updates.filter(isNamed),
    };
  }
  const actions = await addArtifacts(session, bare.value);
  if (!actions.ok) return actions;
  const complete = await addReplaced(session, { place, kept: paths.kept }, actions.value);
  const [fault] = bundleFaults({ ecosystem: 'npm', actions: complete });
  if (fault) return { ok: false, reason: `the plan is unsound at ${fault.path}: ${fault.message}` };
  return soundPlan(complete, resolvedAt);
}
