import { findOperator } from '../operators/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import { rebootFault } from '../policies/author-rules.ts';
import { payloadOf } from '../policies/policy-view.ts';
import { windowOf } from '../policies/policy-windows.ts';
import { type PolicyRow, versionsOf } from '../policies/store.ts';
import { askReboots } from '../reboots/ask-reboots.ts';
import { hostsOfPolicyToReboot } from './reboots-store.ts';

const DAY_MS = 86_400_000;
/** Without windows: how long hosts have to begin, and until what came to nothing is asked for again, in milliseconds. */
const OPEN_END_MS = DAY_MS;
/** Installations before then have no reboot asked for: two monthly windows, and less than the queue keeps its records. */
const INSTALLED_MAX_MS = 70 * DAY_MS;
/** Hosts that one pass asks for: as many as a scope names. */
const HOSTS_MAX = 500;

/**
 * Asks the queue for the reboots that a policy wants after its updates, as an operator would. What is cancelled or fails is asked
 * for again in the next window. An author who is no admin any more has none asked for.
 */
export async function askPolicyReboots(
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  row: PolicyRow,
): Promise<void> {
  const { database } = platform;
  const policy = payloadOf(row);
  const { scope, reboot, name } = policy;
  if (reboot === undefined || reboot.when === 'never') return;
  const author = await findOperator(database.read, row.author_id);
  if (!author || rebootFault({ reboot }, author)) return;
  const nowMs = platform.now();
  const window = windowOf(policy, 'reboot', nowMs);
  if (window.kind === 'closed') return;
  const [sinceMs, deadlineMs] =
    window.kind === 'open'
      ? [window.occurrence.startMs, window.until.notAfterMs]
      : [nowMs - OPEN_END_MS, nowMs + OPEN_END_MS];
  const onlyNeeded = reboot.when === 'needed';
  const hosts = await hostsOfPolicyToReboot(database.read, {
    ...{ scope, policyId: row.policy_id, onlyNeeded, limit: HOSTS_MAX },
    ...{ installedSinceMs: nowMs - INSTALLED_MAX_MS, askedSinceMs: sinceMs },
  });
  if (hosts.length === 0) return;
  const ask = {
    ...{ kind: 'reboot' as const, scope: { kind: 'some' as const, groups: [], hosts } },
    ...{ only_needed: onlyNeeded, warn_minutes: reboot.warn_minutes },
    ...{ reason: `Updates of the policy ${name} are installed.`, deadline: rfc3339(deadlineMs) },
  };
  await database.transact(async (tx) => {
    // One that was replaced, revoked or suspended meanwhile asks for nothing.
    const [newest] = await versionsOf(tx, row.policy_id);
    if (newest?.sha256 !== row.sha256 || newest.ended_at !== null) return;
    await askReboots(tx, platform, { ask, by: `policy/${row.policy_id}@${row.sha256}` });
  });
}
