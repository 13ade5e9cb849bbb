import type { Wait } from '@tidegate/protocol/progress-api';
import type { CommandAction, CommandStatus, UpdateState } from '@tidegate/protocol/states';

/** What a wait of an update or a command can come from. */
export interface WaitFacts {
  readonly host: { readonly id: string; readonly isRevoked: boolean; readonly isOnline: boolean };
  /** Null: the question is about a command that names no update. */
  readonly update: UpdateState | null;
  readonly command: {
    readonly status: CommandStatus;
    /** Whether it changes the host: blackouts withhold these alone. */
    readonly isChanging: boolean;
    readonly notBeforeMs: number;
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
}

export interface FoundWait extends Omit<Wait, 'until'> {
  readonly untilMs: number | null;
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
  { holds, blackout, host, ahead }: WaitFacts,
  { status, isChanging, notBeforeMs }: NonNullable<WaitFacts['command']>,
  nowMs: number,
): readonly FoundWait[] {
  if (status === 'running') return offline(host, [waitFor('end', 'the host to finish')]);
  const waits = [
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

function holdWait({ id, packages, reason, endsAtMs }: WaitFacts['holds'][number]): FoundWait {
  return waitFor('hold', `the end of a hold on ${packages.join(', ')} (${reason})`, {
    untilMs: endsAtMs,
    id,
  });
}

function offline({ id, isOnline }: WaitFacts['host'], otherwise: FoundWait[] = []): FoundWait[] {
  return isOnline ? otherwise : [waitFor('host_offline', 'the host, which is offline', { id })];
}

function restartOf({ restart, host }: WaitFacts): FoundWait[] {
  if (restart === null) return [];
  const text =
    restart === 'reboot'
      ? 'a reboot of the host: until then it runs the old version'
      : 'a restart of services: until then they run the old version';
  return [waitFor('restart', text, { id: host.id })];
}

function waitFor(
  kind: Wait['kind'],
  text: string,
  { untilMs = null, id = null }: { untilMs?: number | null; id?: string | null } = {},
): FoundWait {
  return { kind, text, untilMs, id };
}
