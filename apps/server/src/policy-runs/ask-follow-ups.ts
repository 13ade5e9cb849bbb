import type { PolicyPayload } from '@tidegate/protocol/policies-api';
import { REBOOT_WARN_MINUTES, type RebootKind } from '@tidegate/protocol/reboots-api';
import { findOperator } from '../operators/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import { followUpFault } from '../policies/author-rules.ts';
import { payloadOf } from '../policies/policy-view.ts';
import { windowOf } from '../policies/policy-windows.ts';
import { type PolicyRow, versionsOf } from '../policies/store.ts';
import { does, followUpsOf } from '../policies/window-actions.ts';
import { askReboots } from '../reboots/ask-reboots.ts';
import { hostsToFollowUp } from './follow-ups-store.ts';

const DAY_MS = 86_400_000;
/** Without windows: how long hosts have to begin, and until what came to nothing is asked for again, in milliseconds. */
const OPEN_END_MS = DAY_MS;
/** What was installed before then has nothing asked for: two monthly windows, and less than the queue keeps its records. */
const INSTALLED_MAX_MS = 70 * DAY_MS;
/** Hosts that one pass asks for: as many as a scope names. */
const HOSTS_MAX = 500;
/** A reboot restarts the services as well, so it comes first. */
const KINDS = ['reboot', 'restart_services'] as const satisfies readonly RebootKind[];

type Deps = Pick<Platform, 'database' | 'newId' | 'now'>;

/**
 * Asks the queue for the reboots and the restarts of services that a policy wants after its updates, as an operator would. What is
 * cancelled or fails is asked for again in the next window. An author who is no admin any more has none asked for.
 */
export async function askFollowUps(platform: Deps, row: PolicyRow): Promise<void> {
  const policy = payloadOf(row);
  const kinds = KINDS.filter((kind) => does(policy, kind));
  if (kinds.length === 0) return;
  const author = await findOperator(platform.database.read, row.author_id);
  if (!author || followUpFault(followUpsOf(policy), author)) return;
  for (const kind of kinds) await askFor(platform, { row, policy, kind });
}

async function askFor(
  platform: Deps,
  { row, policy, kind }: { row: PolicyRow; policy: PolicyPayload; kind: RebootKind },
): Promise<void> {
  const { database } = platform;
  const { scope, reboot, name } = policy;
  const nowMs = platform.now();
  const window = windowOf(policy, kind, nowMs);
  if (window.kind === 'closed') return;
  const [sinceMs, deadlineMs] =
    window.kind === 'open'
      ? [window.occurrence.startMs, window.until.notAfterMs]
      : [nowMs - OPEN_END_MS, nowMs + OPEN_END_MS];
  const onlyNeeded = kind === 'restart_services' || reboot?.when === 'needed';
  const hosts = await hostsToFollowUp(database.read, {
    ...{ kind, scope, policyId: row.policy_id, onlyNeeded, deadlineMs, limit: HOSTS_MAX },
    ...{ installedSinceMs: nowMs - INSTALLED_MAX_MS, askedSinceMs: sinceMs },
  });
  if (hosts.length === 0) return;
  const ask = {
    ...{ kind, scope: { kind: 'some' as const, groups: [], hosts }, only_needed: onlyNeeded },
    warn_minutes: reboot?.warn_minutes ?? REBOOT_WARN_MINUTES,
    ...{ reason: `Updates of the policy ${name} are installed.`, deadline: rfc3339(deadlineMs) },
  };
  await database.transact(async (tx) => {
    // One that was replaced, revoked or suspended meanwhile asks for nothing.
    const [newest] = await versionsOf(tx, row.policy_id);
    if (newest?.sha256 !== row.sha256 || newest.ended_at !== null) return;
    await askReboots(tx, platform, { ask, by: `policy/${row.policy_id}@${row.sha256}` });
  });
}
