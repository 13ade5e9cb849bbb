import type { RebootState, RebootWait } from '@tidegate/protocol/reboots-api';
import type { SlotVerdict } from '../reboot-slots/slot-rules.ts';

/** A host of the queue, with what its group allows. */
export interface WaitFacts {
  readonly nowMs: number;
  readonly state: RebootState;
  readonly notBeforeMs: number;
  /** It has been given a command, which it may not have fetched. */
  readonly isOffered: boolean;
  readonly isOnline: boolean;
  /** The slot that the host has already. */
  readonly slot: 'held' | 'proving' | 'failed' | null;
  /** Of a slot for it now; restarts of services need none, and find it free. */
  readonly verdict: SlotVerdict;
}

/** What a host waits for; null unless it is queued and has no slot. The first thing that has to change comes first. */
export function waitOf(facts: WaitFacts): RebootWait | null {
  const { nowMs, state, notBeforeMs, isOffered, isOnline, slot, verdict } = facts;
  if (state !== 'queued' || slot === 'held' || slot === 'proving') return null;
  if (slot === 'failed') return 'release';
  if (!isOffered && notBeforeMs > nowMs) return 'later';
  if (!isOnline) return 'online';
  switch (verdict) {
    case 'halted':
      return 'release';
    case 'none_free':
      return 'slot';
    case 'too_few_healthy':
      return 'healthy';
    case 'free':
      return isOffered ? 'fetch' : 'turn';
  }
}
