import type { Severity } from '@tidegate/protocol/event-types';

/** An event as E9 returns it. */
export interface EventItem {
  readonly id: string;
  readonly kind: 'security' | 'system';
  readonly type: string;
  readonly severity: Severity;
  readonly component: string;
  readonly agent_id: string | null;
  /** The host's current name; null if there is none. */
  readonly hostname: string | null;
  readonly actor: string | null;
  readonly content: unknown;
  readonly created_at: string;
  /** Position in the chain; absent for operators bound to host groups. */
  readonly position?: number;
  readonly previous_hash: string | null;
  readonly hash: string;
}
