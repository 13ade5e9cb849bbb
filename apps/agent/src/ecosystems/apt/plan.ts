import { Plan, planFaults } from '@tidegate/protocol/plan';
import { Check } from 'typebox/value';
import type { PlanOutcome, PlanTarget } from '../ecosystem.ts';
import { toActions } from './actions.ts';
import { addArtifacts } from './artifacts.ts';
import type { AptPlaces, InstalledPackage } from './installed.ts';
import { parsePolicies } from './parse-policy.ts';
import { parseTransaction, type Transaction } from './parse-transaction.ts';
import { type AptSession, installPin, isSafeArgument, shownName } from './session.ts';

/** Maximum number of packages named in a reason. */
const UNMET_NEEDS_MAX = 5;

/** What a plan is resolved against. */
export interface HostState {
  places: AptPlaces;
  installed: readonly InstalledPackage[];
}

/**
 * Resolves the update of one package: everything installed, upgraded, downgraded or removed with it, and the hash
 * of every file. Runs unprivileged, without dpkg's lock, and changes nothing.
 */
export async function planTarget(
  session: AptSession,
  target: PlanTarget,
  { places, installed }: HostState,
  resolvedAt: Date,
): Promise<PlanOutcome> {
  const wanted = { name: target.name, arch: target.arch, version: target.toVersion };
  if (!isSafeArgument(wanted)) return { ok: false, reason: 'the name or version cannot be given to apt' };

  // With -y apt refuses to change held and essential packages; the approver sees a downgrade within the closure.
  const simulated = await session.run('apt-get', [
    '-s',
    '-y',
    '--allow-downgrades',
    'install',
    '--only-upgrade',
    installPin(wanted),
  ]);
  if (!simulated.ok)
    return { ok: false, reason: [simulated.detail, ...unmetNeeds(simulated.stdout)].join('; ') };
  const transaction = parseTransaction(simulated.stdout);
  if (!transaction.ok) return transaction;
  if (!includes(transaction.value, target)) {
    return { ok: false, reason: `apt would not bring ${target.name} to ${target.toVersion}` };
  }
  if (await isDeferred(session, target, places)) {
    return {
      ok: false,
      reason: `${target.name} ${target.toVersion} is a phased update and not yet offered to this host`,
    };
  }

  const bare = toActions(transaction.value, installed, places);
  if (!bare.ok) return bare;
  const actions = await addArtifacts(session, bare.value);
  if (!actions.ok) return actions;
  const plan = { resolved_at: resolvedAt.toISOString(), actions: actions.value };
  const fault = planFaults(plan)[0];
  if (fault) return { ok: false, reason: `the plan is unsound at ${fault.path}: ${fault.message}` };
  if (!Check(Plan, plan)) return { ok: false, reason: 'the plan exceeds the limits of the protocol' };
  return { ok: true, plan };
}

/** apt's explanation of unmet dependencies; its error line alone only says that there are some. */
function unmetNeeds(output: string): string[] {
  const lines = output.split('\n').filter((line) => /^ \S+ : \S+: /.test(line));
  return lines.slice(0, UNMET_NEEDS_MAX).map((line) => line.trim());
}

function includes({ changes }: Transaction, { name, arch, toVersion }: PlanTarget): boolean {
  return changes.some(
    (change) =>
      change.name === name &&
      change.to === toVersion &&
      (arch === undefined || [arch, change.arch].includes('all') || change.arch === arch),
  );
}

/** A distribution may phase a version in by share of hosts; only `apt upgrade` respects that, not `install`. */
async function isDeferred(
  session: AptSession,
  target: PlanTarget,
  { nativeArch }: AptPlaces,
): Promise<boolean> {
  const name = shownName(target, nativeArch);
  const policy = await session.run('apt-cache', ['policy', name]);
  const parsed = policy.ok ? parsePolicies(policy.stdout) : policy;
  if (!parsed.ok) return true;
  const offered = parsed.value.get(name)?.versions.find(({ version }) => version === target.toVersion);
  if (offered?.phasedPercent == null || offered.phasedPercent >= 100) return false;
  const upgrade = await session.run('apt-get', ['-s', 'dist-upgrade']);
  const transaction = upgrade.ok ? parseTransaction(upgrade.stdout) : upgrade;
  return !transaction.ok || !includes(transaction.value, target);
}
