import type { Ring, RingGate } from '@tidegate/protocol/rings';
import type { GateCondition, OutcomeCounts } from '@tidegate/protocol/rollouts-api';

/** What is known of a ring that was entered. */
export interface RingFacts {
  readonly hosts: number;
  readonly outcomes: OutcomeCounts;
  /** Failed hosts for which a person answers who resumed the rollout. */
  readonly excused: number;
  /** Installed hosts whose soak is over. */
  readonly soaked: number;
  /** Of those, hosts that reported green probes after it. */
  readonly green: number;
  /** Open divergences among the packages of the rollout. */
  readonly divergences: number;
  /** Whether a person has approved this ring's gate. */
  readonly isApproved: boolean;
  /** Whether its hosts have had the time to offer these versions (`offerEndMs`). */
  readonly hadTime: boolean;
}

/** How a ring's gate is judged. `skipsSoak`: in the emergency lane. */
export interface GateOptions {
  readonly skipsSoak: boolean;
}

/** What the hosts of a ring have to scan and report in an emergency, once they were asked to. */
const SCANNED_WITHIN_MINUTES = 15;
const MINUTE_MS = 60_000;

/**
 * When a ring without a host to update waits no longer for one: at its deadline, or in the emergency lane when its hosts were
 * asked to scan and have had time for it.
 *
 * @param askedAtMs When they were asked; null: they were not.
 */
export function offerEndMs(ring: Ring, times: { enteredAtMs: number; askedAtMs: number | null }): number {
  const deadlineMs = times.enteredAtMs + ring.deadline_minutes * MINUTE_MS;
  if (times.askedAtMs === null) return deadlineMs;
  return Math.min(deadlineMs, times.askedAtMs + SCANNED_WITHIN_MINUTES * MINUTE_MS);
}

/**
 * The checklist of a gate, in the order in which it is met. A ring without a host to update has nothing to show; it waits for
 * one for a time, as hosts do not report at one time, and those of outer rings are often the first.
 */
export function conditionsOf(gate: RingGate, facts: RingFacts, { skipsSoak }: GateOptions): GateCondition[] {
  const list: GateCondition[] = [];
  const add = (
    kind: GateCondition['kind'],
    { has, wants, text }: { has: number; wants: number; text: string },
  ) => {
    const met = kind === 'divergences' ? has <= wants : has >= wants;
    list.push({ kind, met, has, wants, text });
  };
  const soakMinutes = skipsSoak ? 0 : gate.soak_minutes;
  const { installed } = facts.outcomes;
  if (hasWork(facts) || !facts.hadTime) {
    const least = gate.min_success_count;
    add('success_count', { has: installed, wants: least, text: `${hosts(least)} must have installed` });
    const rate = gate.min_success_rate_percent;
    add('success_rate', {
      ...{ has: rateOf(facts), wants: rate },
      text: `${rate} % of the hosts that received updates must have installed`,
    });
    if (soakMinutes > 0) {
      const text = `${hosts(least)} must have run the update for ${duration(soakMinutes)}`;
      add('soak', { has: facts.soaked, wants: least, text });
    }
    if (gate.probes === 'green') {
      const wants = Math.max(least, facts.soaked);
      add('probes', { has: facts.green, wants, text: `${hosts(wants)} must have green probes` });
    }
  }
  add('divergences', { has: facts.divergences, wants: 0, text: 'no divergence among its packages is open' });
  if (gate.approval) {
    add('approval', { has: facts.isApproved ? 1 : 0, wants: 1, text: 'a person approves the next ring' });
  }
  return list;
}

/** Whether any of its hosts has something to install. */
export function hasWork({ hosts: all, outcomes }: Pick<RingFacts, 'hosts' | 'outcomes'>): boolean {
  return all > outcomes.not_offered;
}

/** Hosts that failed, without those that a person has excused. */
export function failuresOf({ outcomes, excused }: Pick<RingFacts, 'outcomes' | 'excused'>): number {
  return outcomes.failed + outcomes.probe_failed + outcomes.silent - excused;
}

/** Installed in percent of what was delivered, rounded down; a host that has not reported counts as not installed. */
function rateOf(facts: RingFacts): number {
  const { installed, running } = facts.outcomes;
  const all = installed + running + failuresOf(facts);
  return all === 0 ? 0 : Math.floor((100 * installed) / all);
}

/** Why a ring halts its rollout, as a sentence; null: it does not. `before`: the ring before it. */
export function haltOf(ring: Ring, before: Ring | null, facts: RingFacts): string | null {
  const failures = failuresOf(facts);
  if (failures === 0) return null;
  const { failed_hosts: most, failed_percent: percent } = ring.halt;
  if (most !== null && failures >= most) {
    return `${hosts(failures)} of ring "${ring.name}" failed; it halts at ${most}.`;
  }
  const gate = ring.gate ?? before?.gate;
  // Where a number alone is given, the rate says nothing besides.
  if (percent === null && (most !== null || !gate)) return null;
  const limit = percent ?? 100 - (gate?.min_success_rate_percent ?? 100);
  const { not_offered, refused, unfit } = facts.outcomes;
  const counted = facts.hosts - not_offered - refused - unfit - facts.excused;
  if (failures * 100 <= limit * counted) return null;
  return `${failures} of ${hosts(counted)} of ring "${ring.name}" failed; at most ${limit} % may.`;
}

/** What the last ring still waits for; zero: the rollout is finished. */
export function unsettledOf(outcomes: OutcomeCounts): number {
  return outcomes.waiting + outcomes.running + outcomes.offline;
}

export function hosts(count: number): string {
  return count === 1 ? '1 host' : `${count} hosts`;
}

function duration(minutes: number): string {
  if (minutes % 1_440 === 0) return minutes === 1_440 ? '1 day' : `${minutes / 1_440} days`;
  if (minutes % 60 === 0) return minutes === 60 ? '1 hour' : `${minutes / 60} hours`;
  return minutes === 1 ? '1 minute' : `${minutes} minutes`;
}
