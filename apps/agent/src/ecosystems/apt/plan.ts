import { Plan, planFaults } from '@tidegate/protocol/plan';
import { Check } from 'typebox/value';
import type { PlanOutcome, PlanTarget } from '../ecosystem.ts';
import { toActions } from './actions.ts';
import { addArtifacts } from './artifacts.ts';
import type { AptPlaces, InstalledPackage } from './installed.ts';
import { parsePolicies } from './parse-policy.ts';
import { parseTransaction, type Transaction } from './parse-transaction.ts';
import { type AptSession, installPin, isSpeakable, shownName } from './session.ts';

/** How many of them a reason names. */
const UNMET_NEEDS_MAX = 5;

/** What a plan is resolved against. */
export interface HostState {
  places: AptPlaces;
  installed: readonly InstalledPackage[];
}

/**
 * Resolves what updating one package would do: everything that is installed, upgraded, downgraded or removed with it,
 * with the hash of every file. As an unprivileged user, without dpkg's lock, changing nothing.
 */
export async function planTarget(
  session: AptSession,
  target: PlanTarget,
  { places, installed }: HostState,
  resolvedAt: Date,
): Promise<PlanOutcome> {
  const wanted = { name: target.name, arch: target.arch, version: target.toVersion };
  if (!isSpeakable(wanted)) return { ok: false, reason: 'the name or version cannot be given to apt' };

  // -y makes apt refuse what must not be agreed to unseen, held and essential packages; a downgrade within the
  // closure is shown to whoever approves the plan.
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
      reason: `${target.name} ${target.toVersion} is phased in and not yet meant for this host`,
    };
  }

  const bare = toActions(transaction.value, installed, places);
  if (!bare.ok) return bare;
  const actions = await addArtifacts(session, bare.value);
  if (!actions.ok) return actions;
  const plan = { resolved_at: resolvedAt.toISOString(), actions: actions.value };
  const fault = planFaults(plan)[0];
  if (fault) return { ok: false, reason: `the plan is unsound at ${fault.path}: ${fault.message}` };
  if (!Check(Plan, plan)) return { ok: false, reason: 'the plan is beyond what the wire takes' };
  return { ok: true, plan };
}

/** What apt says of packages that do not fit together; its error line alone says only that there are some. */
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

/** A distribution may offer a version to a share of hosts first; only apt's own upgrade minds it, not `install`. */
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
