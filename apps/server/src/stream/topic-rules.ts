import type { SecurityEventType, SystemEventType } from '@tidegate/protocol/event-types';
import type { StreamTopic } from '@tidegate/protocol/stream-api';

/** The topics that an event concerns besides the log itself, with the topic's id: its host's, or none. */
const TOPICS: Readonly<Partial<Record<SecurityEventType | SystemEventType, StreamTopic>>> = {
  AGENT_ENROLLED: 'hosts',
  AGENT_REVOKED: 'hosts',
  MACHINE_BOUND: 'hosts',
  MACHINE_REBOUND: 'hosts',
  MACHINE_ID_MISMATCH: 'hosts',
  REFRESH_TOKEN_REUSE: 'hosts',
  CLONE_SUSPECTED: 'hosts',
  CLONE_DISMISSED: 'hosts',
  agent_offline: 'hosts',
  ARTIFACT_DIVERGENCE: 'updates',
  ARTIFACT_DIVERGENCE_DECIDED: 'updates',
  ARTIFACT_DIVERGENCE_UNDONE: 'updates',
  ARTIFACT_LEDGER_FLOOD: 'updates',
  ARTIFACT_HOST_TRUSTED: 'updates',
  policy_published: 'updates',
  policy_revoked: 'updates',
  policy_suspended: 'updates',
  policy_expired: 'updates',
  policy_window_ahead: 'updates',
  rollout_started: 'updates',
  rollout_ring_entered: 'updates',
  rollout_halted: 'updates',
  rollout_resumed: 'updates',
  rollout_cancelled: 'updates',
  rollout_expedited: 'updates',
  rollout_ring_approved: 'updates',
  rollout_finished: 'updates',
  reboots_asked: 'commands',
  reboot_ended: 'commands',
  reboots_halted: 'commands',
  reboot_slot_released: 'commands',
  reboot_limits_changed: 'commands',
  fleet_lock_changed: 'commands',
  SIGNING_KEY_ADDED: 'keys',
  SIGNING_KEY_REVOKED: 'keys',
  SIGNING_ROOT_CHANGED: 'keys',
  RATE_LIMITS_CHANGED: 'limits',
  OPERATOR_CHANGED: 'operators',
  REGISTRATION_TOKEN_CHANGED: 'operators',
  FLEET_LOCK_TOKEN_CHANGED: 'operators',
  advisories_stale: 'advisories',
  advisories_replaced: 'advisories',
};

export interface EventMark {
  readonly id: string;
  readonly type: string;
  readonly agent_id: string | null;
}

export interface Change {
  readonly topic: StreamTopic;
  /** Null: unknown, or too many. */
  readonly ids: readonly string[] | null;
}

/** The changes that events report: the log, and the subject of each. */
export function changesOf(events: readonly EventMark[]): Change[] {
  if (events.length === 0) return [];
  const about = events.flatMap(({ type, agent_id }): Change[] => {
    const topic = isKnown(type) ? TOPICS[type] : undefined;
    if (topic === undefined) return [];
    return [{ topic, ids: topic === 'hosts' && agent_id !== null ? [agent_id] : null }];
  });
  return [{ topic: 'events', ids: events.map(({ id }) => id) }, ...about];
}

function isKnown(type: string): type is keyof typeof TOPICS {
  return Object.hasOwn(TOPICS, type);
}
