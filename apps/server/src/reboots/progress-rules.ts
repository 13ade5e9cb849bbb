import type { RebootKind, RebootState } from '@tidegate/protocol/reboots-api';
import type { CommandStatus } from '@tidegate/protocol/states';

/** How long a host that is online may leave a command before another one gets its turn, in milliseconds. */
export const OFFER_MAX_MS = 15 * 60_000;
/** How long services may take to be restarted, from the offer, in milliseconds. A reboot has the end of its slot. */
export const RESTART_MAX_MS = 3 * 3_600_000;
/** Shortest pause before the next attempt, and by how much it is spread at random, in milliseconds. */
export const RETRY_MIN_MS = 5 * 60_000;
export const RETRY_JITTER_MS = 10 * 60_000;
/** Longest pause that a host may ask for, in milliseconds: its hours come again within a week. */
export const RETRY_MAX_MS = 8 * 86_400_000;
/** Attempts on one host. */
export const ATTEMPTS_MAX = 50;

/** How refusals begin that the next attempt would get as well (docs/protocol/verification.md). */
const FINAL =
  /^(host_policy \((reboot|restart)_never\)|reboot_never|unsupported_host|core_service|not_supported|no_executor)(:|$)/;

/** A host whose command is under way or over. */
export interface Attempt {
  readonly nowMs: number;
  /** Whether the server has listened for as long as the host may say nothing. */
  readonly couldReport: boolean;
  readonly kind: RebootKind;
  readonly isCancelled: boolean;
  readonly attempts: number;
  readonly offeredAtMs: number;
  readonly command: { status: CommandStatus; reason: string | null; retryAtMs: number | null };
  /** Of this command; null: it has taken none. */
  readonly slot: {
    state: 'held' | 'proving' | 'failed' | 'ended';
    outcome: 'well' | 'not_rebooted' | 'released' | null;
    detail: string | null;
  } | null;
}

export type Progress =
  | { kind: 'wait' }
  | { kind: 'running' }
  /** Take the command back, which the host has not been given, and let another host have its turn. */
  | { kind: 'withdraw'; notBeforeMs: number }
  | { kind: 'again'; notBeforeMs: number; detail: string }
  | { kind: 'end'; state: RebootState; detail: string | null };

const RUNNING: Progress = { kind: 'running' };

/** What becomes of an attempt. Its slot says whether a host is down; what the host says of its command comes second. */
export function progressOf(attempt: Attempt): Progress {
  const { slot, command, nowMs, couldReport, offeredAtMs } = attempt;
  if (slot !== null && slot.outcome !== 'not_rebooted') {
    if (slot.state === 'held' || slot.state === 'proving') return RUNNING;
    if (slot.outcome === 'well') return { kind: 'end', state: 'rebooted', detail: null };
    return { kind: 'end', state: 'failed', detail: slot.detail };
  }
  const { status, reason } = command;
  switch (status) {
    case 'pending': {
      const isStale = nowMs - offeredAtMs >= OFFER_MAX_MS;
      return isStale ? { kind: 'withdraw', notBeforeMs: nowMs + RETRY_MIN_MS } : { kind: 'wait' };
    }
    case 'sent':
    case 'received':
    case 'running':
      return attempt.kind === 'restart_services' && couldReport && nowMs - offeredAtMs >= RESTART_MAX_MS
        ? { kind: 'end', state: 'failed', detail: 'the host did not answer' }
        : RUNNING;
    case 'success':
      // Of a reboot only its slot is proof. Without one the next offer asks for the boot that the host is in.
      return attempt.kind === 'reboot' ? again(attempt) : { kind: 'end', state: 'done', detail: reason };
    case 'failed':
      return { kind: 'end', state: 'failed', detail: reason };
    case 'interrupted':
      // Nobody knows which services were restarted; what is still stale is asked for anew.
      if (attempt.kind === 'restart_services') return { kind: 'end', state: 'failed', detail: reason };
      return again(attempt);
    case 'refused':
    case 'expired':
    case 'cancelled':
      return again(attempt);
  }
}

function again({ nowMs, isCancelled, attempts, command }: Attempt): Progress {
  const { reason, status, retryAtMs } = command;
  const detail = reason ?? status;
  if (isCancelled) return { kind: 'end', state: 'cancelled', detail };
  if (FINAL.test(detail) || attempts >= ATTEMPTS_MAX) return { kind: 'end', state: 'failed', detail };
  const notBeforeMs = Math.min(Math.max(retryAtMs ?? 0, nowMs + RETRY_MIN_MS), nowMs + RETRY_MAX_MS);
  return { kind: 'again', notBeforeMs, detail };
}
