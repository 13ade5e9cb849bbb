import type { ProbeState } from '@tidegate/protocol/probes';

/** What came of one probe. */
export type Seen = { state: ProbeState; detail?: string };

export const GREEN: Seen = { state: 'green' };

export function red(detail: string): Seen {
  return { state: 'red', detail };
}

/** It could not be carried out, which says nothing about what it looks at. */
export function unknown(detail: string): Seen {
  return { state: 'unknown', detail };
}
