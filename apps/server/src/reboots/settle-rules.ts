import type { ProbesState } from '@tidegate/protocol/probes';
import type { CommandStatus } from '@tidegate/protocol/states';

/** How long a host that is back may take until its probes are well, in milliseconds: they run again after ten minutes. */
export const PROVING_MAX_MS = 20 * 60_000;
/** A host may begin a command so long after its signed end, for clocks that differ, in milliseconds. */
const CLOCK_SKEW_MS = 5 * 60_000;

/** What is known of a host that has a slot. */
export interface SlotFacts {
  readonly nowMs: number;
  /** Whether the server has listened for as long as the host may say nothing. */
  readonly couldReport: boolean;
  readonly slot: { bootId: string; takenAtMs: number; endsAtMs: number; backAtMs: number | null };
  /** Null: the command is gone. */
  readonly command: {
    status: CommandStatus;
    reason: string | null;
    isSent: boolean;
    endsAtMs: number;
  } | null;
  /** As its last check-in said. */
  readonly host: { bootId: string | null; uptimeSeconds: number | null; lastSeenMs: number | null };
  /** Null before its first report. */
  readonly probes: { state: ProbesState; atMs: number | null };
}

export type Settlement =
  | { kind: 'wait' }
  /** It is back. Looks at the probes count from `backAtMs`, and have to be well until `endsAtMs`. */
  | { kind: 'back'; backAtMs: number; endsAtMs: number }
  | { kind: 'end'; outcome: 'well' | 'not_rebooted' }
  | { kind: 'fail'; detail: string };

const WAIT: Settlement = { kind: 'wait' };
const NOT_REBOOTED: Settlement = { kind: 'end', outcome: 'not_rebooted' };

/**
 * What becomes of a slot. A new boot id proves the reboot, and then the probes that it is well; unknown is not well.
 * A slot is given back without a reboot only if the host cannot begin any more; otherwise the host fails at the end,
 * and keeps the slot.
 */
export function settle(facts: SlotFacts): Settlement {
  const { nowMs, slot, host } = facts;
  if (slot.backAtMs !== null) return proven({ ...facts, backAtMs: slot.backAtMs });
  if (host.bootId !== null && host.bootId !== slot.bootId) {
    // The host says how long it was up when it checked in, which was before now: it booted no later than this. Whatever
    // it says, no look from before the slot proves anything. A clock that was ahead may have given the slot.
    const bootedAtMs = nowMs - (host.uptimeSeconds ?? 0) * 1_000;
    const backAtMs = Math.min(nowMs, Math.max(slot.takenAtMs, bootedAtMs));
    return { kind: 'back', backAtMs, endsAtMs: nowMs + PROVING_MAX_MS };
  }
  if (cannotBegin(facts)) return NOT_REBOOTED;
  const { command } = facts;
  if (command?.status === 'failed') return { kind: 'fail', detail: command.reason ?? 'the reboot failed' };
  return isOver(facts) ? { kind: 'fail', detail: 'it did not come back' } : WAIT;
}

function proven({ probes, backAtMs, ...facts }: SlotFacts & { backAtMs: number }): Settlement {
  const isNew = probes.atMs !== null && probes.atMs >= backAtMs;
  if (isNew && (probes.state === 'green' || probes.state === 'none')) return { kind: 'end', outcome: 'well' };
  if (!isOver(facts)) return WAIT;
  const seen = isNew ? `its probes are ${probes.state}` : 'it has not reported its probes';
  return { kind: 'fail', detail: `it is back, and ${seen}` };
}

/** Where the server was down at the end, the host has the time to report that it was well by then. */
function isOver({ nowMs, slot, couldReport }: Pick<SlotFacts, 'nowMs' | 'slot' | 'couldReport'>): boolean {
  return couldReport && nowMs >= slot.endsAtMs;
}

/** Whether the host will not go down because of this command. */
function cannotBegin({ command, host }: SlotFacts): boolean {
  if (command === null) return false;
  const { status, isSent, endsAtMs } = command;
  switch (status) {
    case 'refused':
    case 'interrupted':
      return true;
    case 'cancelled':
    case 'expired':
      // It may have the command: only one that is seen after its end, in the same boot, has not begun.
      return !isSent || (host.lastSeenMs !== null && host.lastSeenMs > endsAtMs + CLOCK_SKEW_MS);
    case 'pending':
    case 'sent':
    case 'received':
    case 'running':
    case 'success':
    case 'failed':
      return false;
  }
}
