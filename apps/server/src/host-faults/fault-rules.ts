import type { HostFault } from '@tidegate/protocol/host-faults-api';
import type { HostTroubleReason } from '@tidegate/protocol/package-condition';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { CommandAction, CommandStatus } from '@tidegate/protocol/states';
import { CLOCK_DOUBT_MS, LISTS_MAX_AGE_MS } from '@tidegate/protocol/timeliness';
import { TIMELINESS_KNOWN_MS, type Timeliness } from '../agents/timeliness-store.ts';
import { CLOCK_SKEW_MS } from '../windows/schedule-rules.ts';

/** What the server knows of a host. */
export interface HostFacts {
  readonly isRevoked: boolean;
  readonly revokedAtMs: number | null;
  readonly isBound: boolean;
  readonly isOnline: boolean;
  readonly isAgentTooOld: boolean;
  readonly enrolledAtMs: number;
  readonly lastSeenMs: number | null;
  /** When the credentials ended that nobody revoked together with the host. */
  readonly credentialsEndedMs: number | null;
  readonly cloneSinceMs: number | null;
  /** The first refused request of another machine since the host was last heard of, or in the last day. */
  readonly otherMachineSinceMs: number | null;
  readonly reports: readonly ReportFacts[];
  readonly redProbesSinceMs: number | null;
  /** The newest command that ended, if it ended without success. */
  readonly failed: FailedCommand | null;
  readonly needsReboot: boolean;
  readonly needsRestarts: boolean;
  /** Null: the host has not said, as older agents do not. */
  readonly timeliness: Timeliness | null;
}

interface ReportFacts {
  readonly ecosystem: Ecosystem;
  readonly isComplete: boolean;
  readonly trouble: { reason: HostTroubleReason; detail: string; canRepair: boolean } | null;
}

export interface FailedCommand {
  readonly id: string;
  readonly action: CommandAction;
  readonly status: CommandStatus;
  readonly reason: string | null;
  readonly atMs: number;
}

export type Fault = Omit<HostFault, 'since' | 'command_id'> & {
  readonly since: number | null;
  readonly commandId?: string;
};

/** How long a new host may take to be heard of, and to report its packages. */
const FIRST_CHECK_IN_MS = 300_000;
const FIRST_REPORT_MS = 3_600_000;

/** What is wrong with a host, the most urgent first; HOST_FAULT_KINDS has the same order. */
export function faultsOf(facts: HostFacts, nowMs: number): readonly Fault[] {
  const { timeliness } = facts;
  const isKnown = timeliness !== null && nowMs - timeliness.receivedMs <= TIMELINESS_KNOWN_MS;
  const timely = isKnown ? timeliness : null;
  return [
    ...when(facts.cloneSinceMs, {
      ...{ kind: 'clone_suspected', urgent: true, mend: 'decide_clone' },
      text: 'Two machines seem to use the identity of this host',
      why: 'Decide whether it is one machine, and which one is the host.',
    }),
    ...reachFaults(facts, nowMs),
    ...packageFaults(facts.reports),
    ...when(facts.isAgentTooOld, {
      ...{ kind: 'agent_too_old', urgent: true, mend: 'update_agent' },
      text: 'The agent is older than this server accepts',
      why: 'The host receives the update of its agent, and nothing else until that is installed.',
    }),
    ...clockFaults(timely),
    ...when(facts.redProbesSinceMs, {
      ...{ kind: 'probes_red', urgent: true, mend: 'see_probes' },
      text: 'Its own health checks fail',
      why: 'The probes of the host show which, and what they said.',
    }),
    ...commandFaults(facts.failed),
    ...reportFaults(facts, nowMs),
    ...listFaults(timely, nowMs),
    ...when(facts.needsReboot, {
      ...{ kind: 'reboot_needed', urgent: false, mend: 'see_restarts' },
      text: 'The host needs a reboot',
      why: 'Updates are installed that take effect after it.',
    }),
    ...when(facts.needsRestarts, {
      ...{ kind: 'services_restart', urgent: false, mend: 'see_restarts' },
      text: 'Services run replaced files',
      why: 'They run the old code until they are restarted.',
    }),
  ];
}

/** Why the server does not hear of the host; only the first cause, as the others follow from it. */
function reachFaults(facts: HostFacts, nowMs: number): readonly Fault[] {
  const { isRevoked, isOnline, isBound, otherMachineSinceMs: otherSince, lastSeenMs } = facts;
  if (isRevoked) {
    return when(true, {
      ...{ kind: 'revoked', urgent: true, mend: 'enrol', since: facts.revokedAtMs },
      text: 'The credentials of this host are revoked',
      why: 'It reports nothing and gets no updates until it is enrolled again.',
    });
  }
  if (facts.credentialsEndedMs !== null) {
    return when(facts.credentialsEndedMs, {
      ...{ kind: 'credentials_ended', urgent: true, mend: 'enrol' },
      text: 'The credentials of this host have ended',
      why: 'It can no longer renew them. Enrol it again on the machine.',
    });
  }
  if (otherSince !== null) {
    return when(otherSince, {
      ...{ kind: 'other_machine', urgent: true, mend: isOnline ? 'see_events' : 'rebind' },
      text: 'Another machine asks with the credentials of this host',
      why: isOnline
        ? 'The host itself still checks in, so its credentials may have been copied. Find that machine, or revoke the credentials.'
        : 'If its hardware was changed, rebind it. If not, its credentials were copied: revoke them.',
    });
  }
  if (!isBound) {
    return when(true, {
      ...{ kind: 'unbound', urgent: true, mend: null },
      text: 'The host is bound to no machine',
      why: 'The next machine that shows its credentials becomes the host. Start the agent there.',
    });
  }
  if (isOnline) return [];
  const check = 'Check that the machine runs, that the agent runs on it, and that it reaches this server.';
  if (lastSeenMs === null) {
    return when(nowMs - facts.enrolledAtMs >= FIRST_CHECK_IN_MS && facts.enrolledAtMs, {
      ...{ kind: 'never_seen', urgent: true, mend: null },
      text: 'The host was enrolled and has never checked in',
      why: check,
    });
  }
  return when(lastSeenMs, {
    ...{ kind: 'offline', urgent: true, mend: null },
    text: 'The host is offline',
    why: `It reports nothing and gets no updates. ${check}`,
  });
}

const TROUBLE_TEXTS: Readonly<Record<HostTroubleReason, string>> = {
  packages_broken: 'Packages are installed or configured by half',
  transaction_interrupted: 'An installation was interrupted',
  space_insufficient: 'The disk is too full to install anything',
  packages_locked: 'Another program holds the package manager',
};
const TROUBLES = [
  'packages_broken',
  'transaction_interrupted',
  'space_insufficient',
  'packages_locked',
] as const;

function packageFaults(reports: readonly ReportFacts[]): readonly Fault[] {
  const troubles = reports.flatMap(({ trouble }) => trouble ?? []);
  return TROUBLES.flatMap((reason) =>
    troubles
      .filter((one) => one.reason === reason)
      .map(
        ({ detail, canRepair }): Fault => ({
          ...{ kind: reason, since: null, urgent: true, mend: canRepair ? 'repair' : 'see_condition' },
          ...{ text: TROUBLE_TEXTS[reason], why: `Nothing is installed until it is mended: ${detail}` },
        }),
      ),
  );
}

const ACTIONS: Readonly<Record<CommandAction, string>> = {
  scan: 'scan',
  plan_update: 'plan an update',
  install_update: 'install an update',
  repair: 'repair packages',
  reboot: 'reboot',
  restart_services: 'restart services',
  update_agent: 'update the agent',
  refresh_keys: 'refresh the keys',
  run_probes: 'run the probes',
  set_polling: 'set the check-in interval',
};

function commandFaults(failed: FailedCommand | null): readonly Fault[] {
  if (failed === null) return [];
  const { id: commandId, action, status, reason, atMs: since } = failed;
  const ended = status === 'failed' || status === 'expired' ? status : `was ${status}`;
  return [
    {
      ...{ kind: 'command_failed', since, urgent: false, mend: 'see_command', commandId },
      text: `The last command ${ended}: ${ACTIONS[action]}`,
      why:
        reason === null
          ? 'Its page has the output.'
          : status === 'expired'
            ? 'The host did not run it in time.'
            : `The host said: ${reason}. Its page has the output.`,
    },
  ];
}

/** A report that has a trouble is incomplete for that, and said above. */
function reportFaults({ reports, isOnline, enrolledAtMs }: HostFacts, nowMs: number): readonly Fault[] {
  const isAwaited = isOnline && nowMs - enrolledAtMs >= FIRST_REPORT_MS;
  const partial = reports.filter(({ isComplete, trouble }) => !isComplete && trouble === null);
  return [
    ...when(reports.length === 0 && isAwaited, {
      ...{ kind: 'packages_unknown', urgent: false, mend: 'scan' },
      text: 'The host has not reported its packages',
      why: 'Its updates are not known until a scan succeeds.',
    }),
    ...when(partial.length > 0, {
      ...{ kind: 'packages_incomplete', urgent: false, mend: 'scan' },
      text: `The last scan was not complete: ${partial.map(({ ecosystem }) => ecosystem).join(', ')}`,
      why: 'Packages and updates may be missing from the lists.',
    }),
  ];
}

const SET_CLOCK =
  'Set the clock there, and run NTP ("timedatectl set-ntp true"). If many hosts show this, look at the clock of the server.';

/** Only a clock that is ahead keeps commands from being carried out (docs/protocol/verification.md, Time). */
function clockFaults(timeliness: Timeliness | null): readonly Fault[] {
  const { aheadMs } = timeliness ?? { aheadMs: 0 };
  const apartMs = Math.abs(aheadMs);
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  return when(apartMs > CLOCK_DOUBT_MS, {
    ...{ kind: 'clock_wrong', urgent: aheadMs > CLOCK_SKEW_MS, mend: null },
    text: `The clock of the host is about ${spanOf(apartMs)} ${side} the server's`,
    why: `${clockMeaning(aheadMs)} ${SET_CLOCK}`,
  });
}

function clockMeaning(aheadMs: number): string {
  if (aheadMs > CLOCK_SKEW_MS)
    return 'Clocks may differ by 5 minutes: the host takes signed commands for expired too early, and from 15 minutes on it installs nothing, unless its own policy allows more.';
  if (aheadMs < -CLOCK_SKEW_MS)
    return 'Commands work, as the host goes by the times that the server signs. Its logs, its timers and what it says of certificates are wrong.';
  return 'Signed commands allow for a difference of 5 minutes.';
}

const FETCHED_BY: Readonly<Partial<Record<Ecosystem, string>>> = {
  apt: 'A scan does not fetch the lists: apt-daily.timer does, or tidegate-apt-update.timer. See why neither runs, or run "apt-get update" on the host: the next scan reports it.',
  dnf: 'A scan fetches the lists again once the metadata_expire of a repository has passed: look at that setting, and whether the host reaches its repositories.',
};

function listFaults(timeliness: Timeliness | null, nowMs: number): readonly Fault[] {
  if (timeliness === null) return [];
  const old = timeliness.lists.filter(({ ageMs }) => ageMs > LISTS_MAX_AGE_MS);
  return old.map(({ ecosystem, ageMs }) => ({
    ...{ kind: 'lists_stale', since: null, urgent: false, mend: null },
    text: `The package lists of ${ecosystem} are ${spanOf(nowMs - timeliness.receivedMs + ageMs)} old`,
    why: `Newer updates are not known, so "nothing to install" is not to be believed. ${FETCHED_BY[ecosystem] ?? ''}`.trim(),
  }));
}

const UNITS = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
] as const;

/** In the largest unit of which there are two. */
function spanOf(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, size]) => ms >= 2 * size) ?? ['seconds', 1_000];
  return `${Math.floor(ms / unitMs)} ${unit}`;
}

/** A number is the time since when it is so. */
function when(
  known: number | boolean | null,
  fault: Omit<Fault, 'since'> & { since?: number | null },
): readonly Fault[] {
  if (known === null || known === false) return [];
  return [{ since: known === true ? null : known, ...fault }];
}
