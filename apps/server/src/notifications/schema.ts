import { BYTEWISE, perEngine, type Statement } from '../platform/db/statement.ts';

/** Added by migrations after the first release. */
export const NOTIFICATIONS: readonly Statement[] = [
  `CREATE TABLE notification_channels (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    config TEXT NOT NULL,
    sealed_secret TEXT,
    receiver_key TEXT,
    is_enabled INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    paused_until BIGINT NOT NULL,
    last_attempt TEXT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
  )`,
  `CREATE TABLE notification_rules (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    channel_id TEXT NOT NULL REFERENCES notification_channels (id),
    is_enabled INTEGER NOT NULL,
    conditions TEXT NOT NULL,
    quiet_hours TEXT,
    mode TEXT NOT NULL,
    position BIGINT NOT NULL,
    next_digest_at BIGINT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
  )`,
  // The outbox, and the sets that links in notices open.
  perEngine`CREATE TABLE notification_deliveries (
    id TEXT${BYTEWISE} PRIMARY KEY,
    channel_id TEXT NOT NULL REFERENCES notification_channels (id),
    rule_id TEXT,
    rule_name TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('events', 'digest', 'escalation', 'test')),
    state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'dead')),
    message TEXT NOT NULL,
    events INTEGER NOT NULL,
    update_ids TEXT NOT NULL,
    left_out INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    attempts_max INTEGER NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    leased_until BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT
  )`,
  `CREATE INDEX notification_deliveries_due ON notification_deliveries (channel_id, next_attempt_at)
    WHERE state = 'waiting'`,
  'CREATE INDEX notification_deliveries_listed ON notification_deliveries (state, id)',
  'CREATE INDEX notification_deliveries_channel ON notification_deliveries (channel_id, state, id)',
  'CREATE INDEX notification_deliveries_ended ON notification_deliveries (ended_at) WHERE ended_at IS NOT NULL',
  `CREATE TABLE notification_attempts (
    delivery_id TEXT NOT NULL REFERENCES notification_deliveries (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    at BIGINT NOT NULL,
    is_delivered INTEGER NOT NULL,
    reason TEXT,
    answer TEXT,
    PRIMARY KEY (delivery_id, number)
  )`,
  // Versions that wait on some host and fix a vulnerability that is known to be exploited.
  perEngine`CREATE TABLE exploited_fixes (
    ecosystem TEXT${BYTEWISE} NOT NULL,
    name TEXT${BYTEWISE} NOT NULL,
    version TEXT NOT NULL,
    vulnerabilities TEXT NOT NULL,
    known_at BIGINT NOT NULL,
    PRIMARY KEY (ecosystem, name, version)
  )`,
  `CREATE TABLE notification_escalations (
    rule_id TEXT NOT NULL REFERENCES notification_rules (id) ON DELETE CASCADE,
    ecosystem TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    sent INTEGER NOT NULL,
    sent_at BIGINT NOT NULL,
    PRIMARY KEY (rule_id, ecosystem, name, version)
  )`,
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    notification_channels: {
      id: string;
      name: string;
      /** JSON, as the last attempt. */
      config: string;
      /** Opens only with the same id and config (`seal-channel.ts`). */
      sealed_secret: string | null;
      receiver_key: string | null;
      is_enabled: number;
      /** Attempts in a row that failed. */
      failures: number;
      paused_until: number;
      last_attempt: string | null;
      created_by: string;
      created_at: number;
      updated_at: number;
    };
    notification_rules: {
      id: string;
      name: string;
      channel_id: string;
      is_enabled: number;
      /** JSON, as the next two. */
      conditions: string;
      quiet_hours: string | null;
      mode: string;
      /** The last event of the log that the rule has dealt with. */
      position: number;
      next_digest_at: number | null;
      created_by: string;
      created_at: number;
      updated_at: number;
    };
    notification_deliveries: {
      id: string;
      channel_id: string;
      rule_id: string | null;
      rule_name: string | null;
      kind: 'events' | 'digest' | 'escalation' | 'test';
      state: 'waiting' | 'delivered' | 'dead';
      /** JSON of a `Message`; without its payload once it is delivered. */
      message: string;
      events: number;
      /** JSON: the updates that it speaks of. */
      update_ids: string;
      left_out: number;
      attempts: number;
      /** After so many it is a dead letter. */
      attempts_max: number;
      next_attempt_at: number;
      /** An attempt is under way until then. */
      leased_until: number;
      created_at: number;
      ended_at: number | null;
    };
    notification_attempts: {
      delivery_id: string;
      number: number;
      at: number;
      is_delivered: number;
      reason: string | null;
      answer: string | null;
    };
    exploited_fixes: {
      ecosystem: string;
      name: string;
      version: string;
      /** JSON: their ids. */
      vulnerabilities: string;
      known_at: number;
    };
    notification_escalations: {
      rule_id: string;
      ecosystem: string;
      name: string;
      version: string;
      /** Messages so far. */
      sent: number;
      sent_at: number;
    };
  }
}
