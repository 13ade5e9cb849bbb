import type { Ring } from '@tidegate/protocol/rings';

/** A ring of one group, with a gate that one installed host opens at once. */
export function ringOf(name: string, change: Partial<Ring> = {}): Ring {
  return {
    name,
    members: { kind: 'some', groups: [name], hosts: [] },
    gate: {
      ...{ min_success_count: 1, min_success_rate_percent: 100, soak_minutes: 0 },
      ...{ probes: 'none', approval: false },
    },
    deadline_minutes: 30,
    halt: { failed_hosts: null, failed_percent: null },
    ...change,
  };
}

/** The last ring. */
export const REST: Ring = ringOf('rest', { members: { kind: 'rest' }, gate: null });
export const CANARY_THEN_REST: Ring[] = [ringOf('canary'), REST];
