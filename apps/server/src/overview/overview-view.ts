import type { AdvisoryCheck } from '@tidegate/protocol/health-api';
import type { Figure, LastBackup, Opens, Overview } from '@tidegate/protocol/overview-api';
import type { VulnerabilityPolicy } from '@tidegate/protocol/vulnerability-policy-api';
import { rfc3339 } from '../platform/clock.ts';
import { isBackupDue } from '../restore/backup-age-rules.ts';
import { STOPPED_BY } from '../updates/stopped-rules.ts';
import { heldBackView } from '../withheld/held-rules.ts';
import type { ServiceFacts } from './fleet-store.ts';
import { type Snapshot, totalOf } from './take-snapshot.ts';
import { HOUR_MS, type UpdateGroup } from './update-counts-store.ts';

/** Tolerated clock difference to stored times, in milliseconds. */
const CLOCK_SLACK_MS = 5_000;

/** Whole hours after which an update should have a verdict. */
const JUDGED_WITHIN_HOURS = 1;

/** What the overview shows of the source of advisories. */
export interface AdvisoryState {
  readonly status: AdvisoryCheck;
  /** Ecosystems of the fleet without data. */
  readonly missing: readonly string[];
}

/** The counts for a caller of this reach; only admins see those of the whole fleet. */
export function overviewOf(
  snapshot: Snapshot,
  {
    isFleetAdmin,
    policy,
    advisories,
  }: { isFleetAdmin: boolean; policy: VulnerabilityPolicy; advisories: AdvisoryState },
): Overview {
  const { asOfMs, scope, hosts, updates, small, sinceMs, events, service } = snapshot;
  const asOf = rfc3339(asOfMs);
  const since = rfc3339(sinceMs);
  const behindMs = Math.max(0, (service.newestEventMs ?? 0) - asOfMs);

  const figure = (count: number, opens: Opens | null): Figure => ({ count, as_of: asOf, opens });
  const pending = updates.filter(({ state }) => state === 'pending');
  const waiting = (verdict: string) =>
    figure(totalOf(ofVerdict(pending, verdict)), { list: 'updates', filter: { state: 'pending', verdict } });
  const opensNotJudged: Opens = { list: 'updates', filter: { state: 'pending', verdict: 'not_judged' } };
  // Whole hours, as the groups have them: a server that runs well judges within minutes.
  const dueHour = Math.floor(asOfMs / HOUR_MS) - JUDGED_WITHIN_HOURS;
  const overdue = ofVerdict(pending, null).filter(({ hour }) => hour < dueHour);
  const ofEvents = (type: string) =>
    figure(events.get(type) ?? 0, { list: 'events', filter: { type, since } });
  const ofHosts = (count: number, status: string) => figure(count, { list: 'agents', filter: { status } });
  const ofFleet = (count: number, opens: Opens, isShown: boolean) => (isShown ? figure(count, opens) : null);

  return {
    as_of: asOf,
    of: scope === null ? 'fleet' : 'groups',
    needs_me: {
      waiting: {
        clear: waiting('clear'),
        vulnerable: waiting('vulnerable'),
        unchecked: waiting('unchecked'),
        not_judged: figure(totalOf(ofVerdict(pending, null)), opensNotJudged),
      },
      exploited: figure(totalOf(pending.filter(({ knownExploited }) => knownExploited)), {
        list: 'updates',
        filter: { state: 'pending', exploited: 'true' },
      }),
      critical_fixes: figure(snapshot.criticalFixes, {
        list: 'updates',
        filter: { state: 'pending', fixes_severity: 'critical' },
      }),
      fixes: figure(totalOf(pending.filter(({ exposed }) => exposed)), {
        list: 'updates',
        filter: { state: 'pending', fixes: 'true' },
      }),
      security: figure(totalOf(pending.filter(({ security }) => security)), {
        list: 'updates',
        filter: { state: 'pending', security: 'true' },
      }),
      judging_overdue: figure(totalOf(overdue), {
        list: 'updates',
        filter: { ...opensNotJudged.filter, until: rfc3339(dueHour * HOUR_MS) },
      }),
      stopped: figure(
        totalOf(pending.filter(({ stoppedUnder }) => STOPPED_BY[policy].includes(stoppedUnder ?? ''))),
        {
          list: 'updates',
          filter: { state: 'pending', stopped_under: policy },
        },
      ),
      blocked: figure(snapshot.blocked, { list: 'updates', filter: { state: 'pending', blocked: 'true' } }),
      failed: figure(totalOf(updates.filter(({ state }) => state === 'failed')), {
        list: 'updates',
        filter: { state: 'failed' },
      }),
      approvals_undelivered: figure(small.undelivered, {
        list: 'commands',
        filter: { status: 'pending', action: 'install_update', due: 'true' },
      }),
      clones_suspected: figure(small.clones, { list: 'agents', filter: { clone_suspected: 'true' } }),
      hosts_unbound: ofHosts(hosts.unbound, 'unbound'),
      hosts_offline: ofHosts(hosts.offline, 'offline'),
      lists_stale: figure(small.listsStale, { list: 'agents', filter: { lists: 'stale' } }),
      clocks_wrong: figure(small.clocksWrong, { list: 'agents', filter: { clock: 'wrong' } }),
      divergences_open: ofFleet(
        small.divergences,
        { list: 'divergences', filter: { open: 'true' } },
        scope === null,
      ),
      keys_due: ofFleet(small.keysDue, { list: 'signing-keys', filter: { due: 'true' } }, isFleetAdmin),
      registration_tokens_ending: ofFleet(
        small.tokensEnding,
        { list: 'registration-tokens', filter: { ending: 'true' } },
        isFleetAdmin,
      ),
      dead_letters: ofFleet(
        small.deadLetters,
        { list: 'notification-deliveries', filter: { state: 'dead' } },
        isFleetAdmin,
      ),
      backup: isFleetAdmin ? backupView(service, asOfMs) : null,
    },
    changed: {
      since,
      installed: ofEvents('update_installed'),
      failed: ofEvents('update_failed'),
      approved: ofEvents('update_approved'),
      new_updates: figure(snapshot.newUpdates, { list: 'updates', filter: { since } }),
      hosts_enrolled: ofEvents('AGENT_ENROLLED'),
    },
    lying: {
      machine_mismatches: ofEvents('MACHINE_ID_MISMATCH'),
      token_reuse: ofEvents('REFRESH_TOKEN_REUSE'),
      unchecked: waiting('unchecked'),
      advisories: {
        status: advisories.status,
        data_as_of: timeOf(service.advisoriesAsOfMs),
        stale: service.stale.map((one) => ({ ecosystem: one.ecosystem, since: rfc3339(one.sinceMs) })),
        missing: [...advisories.missing],
      },
      clock: { ok: behindMs <= CLOCK_SLACK_MS, behind_seconds: Math.ceil(behindMs / 1_000), as_of: asOf },
      restore: { detected_at: timeOf(service.restoredMs), resync_open: service.isResyncOpen },
    },
    totals: {
      hosts: figure(hosts.hosts, { list: 'agents', filter: {} }),
      hosts_bound: ofHosts(hosts.bound, 'bound'),
      hosts_online: ofHosts(hosts.online, 'online'),
      hosts_revoked: ofHosts(hosts.revoked, 'revoked'),
      updates_open: figure(totalOf(updates), { list: 'updates', filter: { open: 'true' } }),
      hosts_current: figure(snapshot.current.hosts, { list: 'agents', filter: { up_to_date: 'true' } }),
    },
    held: {
      ...heldBackView(snapshot.current.held),
      opens: { list: 'updates', filter: { state: 'pending', held: 'true' } },
    },
    verdicts: { ...verdictsOf(updates), as_of: asOf },
  };
}

/** How many of them have each verdict. */
export function verdictsOf(updates: readonly UpdateGroup[]) {
  return {
    clear: totalOf(ofVerdict(updates, 'clear')),
    vulnerable: totalOf(ofVerdict(updates, 'vulnerable')),
    unchecked: totalOf(ofVerdict(updates, 'unchecked')),
    not_judged: totalOf(ofVerdict(updates, null)),
  };
}

function ofVerdict(updates: readonly UpdateGroup[], verdict: string | null): UpdateGroup[] {
  return updates.filter((one) => one.verdict === verdict);
}

function backupView({ lastBackup, fleetCreatedAtMs }: ServiceFacts, nowMs: number): LastBackup {
  const takenAtMs = lastBackup?.taken_at ?? null;
  return {
    taken_at: timeOf(takenAtMs),
    bytes: lastBackup?.bytes ?? null,
    due: isBackupDue({ takenAtMs, fleetCreatedAtMs, nowMs }),
  };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : rfc3339(ms);
}
