import {
  HEARTBEAT_SLOT_MINUTES,
  HEARTBEAT_SLOTS,
  type HeartbeatStatus,
} from '@tidegate/protocol/overview-api';
import { ONLINE_INTERVALS } from './presence.ts';

export const SLOT_MS = HEARTBEAT_SLOT_MINUTES * 60_000;

/** Index of the half hour since 1970. */
export function slotOf(ms: number): number {
  return Math.floor(ms / SLOT_MS);
}

export interface HeartbeatFacts {
  readonly nowMs: number;
  /** Time of enrolment; earlier slots are unknown. */
  readonly enrolledAtMs: number;
  readonly intervalSeconds: number;
  readonly lastSeenMs: number | null;
  /** One bit per slot with a check-in, `beatSlot` lowest, and one per slot in which a silence ended. */
  readonly beatSlot: number | null;
  readonly beats: number;
  readonly lateBeats: number;
  /** Slots in which a server was running. */
  readonly served: ReadonlySet<number>;
}

/** The last 24 hours of a host, oldest slot first. */
export function heartbeatsOf(facts: HeartbeatFacts): { fromMs: number; status: HeartbeatStatus }[] {
  const newest = slotOf(facts.nowMs);
  return Array.from({ length: HEARTBEAT_SLOTS }, (_, i) => {
    const slot = newest - HEARTBEAT_SLOTS + 1 + i;
    return { fromMs: slot * SLOT_MS, status: statusOf(facts, slot) };
  });
}

function statusOf(facts: HeartbeatFacts, slot: number): HeartbeatStatus {
  if (bit(facts.lateBeats, facts, slot)) return 'late';
  if (bit(facts.beats, facts, slot)) return 'seen';
  const patienceMs = ONLINE_INTERVALS * facts.intervalSeconds * 1_000;
  const isTooNew = slot < slotOf(facts.enrolledAtMs) + 1;
  const isStillDue = slot === slotOf(facts.nowMs) && facts.nowMs - (facts.lastSeenMs ?? 0) < patienceMs;
  if (isTooNew || isStillDue || !facts.served.has(slot)) return 'unknown';
  // A host with an interval longer than a slot does not check in during every slot.
  for (let before = slot - 1; before >= slot - Math.floor(patienceMs / SLOT_MS); before--) {
    if (bit(facts.beats, facts, before)) return 'unknown';
  }
  return 'missed';
}

/** Works on 48 bits, too many for JavaScript's 32-bit operators. */
function bit(bits: number, { beatSlot }: HeartbeatFacts, slot: number): boolean {
  if (beatSlot === null || slot > beatSlot || slot <= beatSlot - HEARTBEAT_SLOTS) return false;
  return Math.floor(bits / 2 ** (beatSlot - slot)) % 2 === 1;
}
