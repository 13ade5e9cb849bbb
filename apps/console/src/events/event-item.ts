import type { Severity } from '@tidegate/protocol/event-types';

/** An event as E9 answers it. */
export interface EventItem {
  readonly id: string;
  readonly kind: 'security' | 'system';
  readonly type: string;
  readonly severity: Severity;
  readonly component: string;
  readonly agent_id: string | null;
  /** Of the host as it is called now; null where there is none. */
  readonly hostname: string | null;
  readonly actor: string | null;
  readonly content: unknown;
  readonly created_at: string;
  /** Place in the chain; absent for who is bound to groups of hosts. */
  readonly position?: number;
  readonly previous_hash: string | null;
  readonly hash: string;
}
