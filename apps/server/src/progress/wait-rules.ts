import type { Wait } from '@tidegate/protocol/progress-api';
import type { RebootWait } from '@tidegate/protocol/reboots-api';
import type { CommandAction, CommandStatus, UpdateState } from '@tidegate/protocol/states';

/** What a wait of an update or a command can come from. */
export interface WaitFacts {
  readonly host: {
    readonly id: string;
    readonly isRevoked: boolean;
    readonly isOnline: boolean;
    /** Whether its agent says when an installation begins. */
    readonly tellsInstalling: boolean;
  };
  /** Null: the question is about a command that names no update. */
  readonly update: UpdateState | null;
  readonly command: {
    readonly status: CommandStatus;
    /** Whether it changes the host: blackouts withhold these alone. */
    readonly isChanging: boolean;
    readonly notBeforeMs: number;
    readonly isInstallation: boolean;
    readonly startedAtMs: number | null;
    /** When the download was over. */
    readonly installingAtMs: number | null;
  } | null;
  /** Holds on its packages that are for this host. */
  readonly holds: readonly {
    readonly id: string;
    readonly packages: readonly string[];
    readonly reason: string;
    readonly endsAtMs: number;
  }[];
  readonly blackout: { readonly id: string; readonly name: string; readonly untilMs: number } | null;
  /** Counted from 0; of the rollout that carries the update. */
  readonly ring: { readonly id: string; readonly own: number; readonly current: number } | null;
  /** What the host works on now. */
  readonly ahead: { readonly id: string; readonly action: CommandAction } | null;
  /** What the host still has to do for the new version to run. */
  readonly restart: 'reboot' | 'services' | null;
  /** An update of the command whose approval has one signature, where the host has refused such an approval. */
  readonly unsigned: { readonly updateId: string } | null;
  /** The reboot that the host is to make; null: nobody asked for one, or nothing is in its way. */
  readonly reboot: RebootFacts | null;
}

export interface RebootFacts {
  readonly waitsFor: RebootWait;
  /** When it is tried. */
  readonly notBeforeMs: number;
  /** Of the group of the host: how many hosts may be down at once, how many slots are taken, and by whom. */
  readonly slots: { readonly atMost: number; readonly taken: number; readonly by: readonly string[] };
}

export interface FoundWait extends Omit<Wait, 'until' | 'since'> {
  readonly untilMs: number | null;
  readonly sinceMs: number | null;
}

/** What an update or a command waits for: what has to change first comes first. */
export function waitsOf(facts: WaitFacts, nowMs: number): readonly FoundWait[] {
  const { command, host } = facts;
  if (isOver(facts)) return command?.status === 'success' ? restartOf(facts) : [];
  if (host.isRevoked)
    return [waitFor('host_revoked', 'the host to enrol again: its credentials are revoked', { id: host.id })];
  return command === null ? undecided(facts) : ordered(facts, command, nowMs);
}

const OPEN_COMMANDS: readonly CommandStatus[] = ['pending', 'sent', 'received', 'running'];
const OVER_UPDATES: readonly (UpdateState | null)[] = ['installed', 'rejected', 'superseded', null];

function isOver({ command, update }: WaitFacts): boolean {
  return command === null ? OVER_UPDATES.includes(update) : !OPEN_COMMANDS.includes(command.status);
}

function undecided({ update, holds, ring, host }: WaitFacts): readonly FoundWait[] {
  if (update === 'awaiting_plan')
    return [...offline(host), waitFor('plan', 'the plan of the host for the whole transaction')];
  const kept = [
    ...holds.map(holdWait),
    ...(ring !== null && ring.own > ring.current
      ? [
          waitFor('ring', `ring ${ring.own + 1} of its rollout, which is in ring ${ring.current + 1}`, {
            id: ring.id,
          }),
        ]
      : []),
  ];
  if (kept.length > 0) return kept;
  return [waitFor('decision', update === 'failed' ? 'a decision after it failed' : 'an approval')];
}

function ordered(
  { holds, blackout, host, ahead, unsigned, reboot }: WaitFacts,
  command: NonNullable<WaitFacts['command']>,
  nowMs: number,
): readonly FoundWait[] {
  const { status, isChanging, notBeforeMs } = command;
  if (status === 'running') return endOf(command, host);
  const waits = [
    ...(unsigned
      ? [
          waitFor(
            'second_signature',
            'a second signature on its approval: this host has refused one without it',
            { id: unsigned.updateId },
          ),
        ]
      : []),
    ...(status === 'pending' && isChanging ? holds.map(holdWait) : []),
    ...(status === 'pending' && isChanging && blackout
      ? [
          waitFor('blackout', `the end of the blackout ${blackout.name}`, {
            ...{ untilMs: blackout.untilMs, id: blackout.id },
          }),
        ]
      : []),
    ...(status === 'pending' && notBeforeMs > nowMs
      ? [waitFor('time', 'its time', { untilMs: notBeforeMs })]
      : []),
    ...offline(host),
    ...(status === 'pending' && reboot ? [rebootWait(reboot)] : []),
    ...(status !== 'pending' && ahead
      ? [
          waitFor(
            'other_command',
            `another command of the host to end (${ahead.action.replaceAll('_', ' ')})`,
            {
              id: ahead.id,
            },
          ),
        ]
      : []),
  ];
  if (waits.length > 0) return waits;
  return status === 'pending' || status === 'sent' || status === 'received' ? [NEXT[status]] : [];
}

const NEXT: Readonly<Record<'pending' | 'sent' | 'received', FoundWait>> = {
  pending: waitFor('check_in', 'the next check-in of the host'),
  sent: waitFor('receipt', 'the host to say that it has it'),
  received: waitFor('start', 'the host to start'),
};

function endOf(
  { isInstallation, startedAtMs, installingAtMs }: NonNullable<WaitFacts['command']>,
  host: WaitFacts['host'],
): FoundWait[] {
  if (!isInstallation) return offline(host, [waitFor('end', 'the host to finish', { sinceMs: startedAtMs })]);
  // Where an installation was when its host went away matters too.
  const away = offline(host);
  if (installingAtMs !== null) {
    const since = { sinceMs: installingAtMs };
    return [...away, waitFor('installation', 'the host to install the packages', since)];
  }
  const since = { sinceMs: startedAtMs };
  return host.tellsInstalling
    ? [...away, waitFor('download', 'the host to download the packages', since)]
    : [...away, waitFor('end', 'the host to download and install the packages', since)];
}

function holdWait({ id, packages, reason, endsAtMs }: WaitFacts['holds'][number]): FoundWait {
  return waitFor('hold', `the end of a hold on ${packages.join(', ')} (${reason})`, {
    untilMs: endsAtMs,
    id,
  });
}

function offline({ id, isOnline }: WaitFacts['host'], otherwise: FoundWait[] = []): FoundWait[] {
  return isOnline ? otherwise : [waitFor('host_offline', 'the host, which is offline', { id })];
}

function restartOf({ restart, host, reboot }: WaitFacts): FoundWait[] {
  if (restart === null) return [];
  const asked = reboot ? (reboot.waitsFor === 'online' ? offline(host) : [rebootWait(reboot)]) : [];
  const text =
    restart === 'reboot'
      ? 'a reboot of the host: until then it runs the old version'
      : 'a restart of services: until then they run the old version';
  return [...(restart === 'reboot' ? asked : []), waitFor('restart', text, { id: host.id })];
}

function rebootWait({ waitsFor, notBeforeMs, slots }: RebootFacts): FoundWait {
  const untilMs = waitsFor === 'later' ? notBeforeMs : null;
  return waitFor('reboot', rebootText(waitsFor, slots), { untilMs });
}

function rebootText(waitsFor: RebootWait, { atMost, taken, by }: RebootFacts['slots']): string {
  const more = taken - by.length;
  const names = [
    ...by,
    ...(more > 0 ? [`${more} ${by.length > 0 ? 'more' : more === 1 ? 'other' : 'others'}`] : []),
  ].join(', ');
  switch (waitsFor) {
    case 'slot':
      return `a reboot slot: ${taken} of ${atMost} taken by ${names}`;
    case 'release':
      return `a person to release the reboot slots of hosts that did not come back; taken by ${names}`;
    case 'healthy':
      return 'other hosts of its group to be up and well before it reboots';
    case 'later':
      return 'the next attempt to reboot it';
    case 'online':
      return 'the host, which is offline, to reboot';
    case 'turn':
      return 'its turn in the queue of reboots';
    case 'fetch':
      return 'the host to fetch its reboot';
  }
}

function waitFor(
  kind: Wait['kind'],
  text: string,
  {
    untilMs = null,
    sinceMs = null,
    id = null,
  }: { untilMs?: number | null; sinceMs?: number | null; id?: string | null } = {},
): FoundWait {
  return { kind, text, untilMs, sinceMs, id };
}
