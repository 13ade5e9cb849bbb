import { type Static, Type } from 'typebox';
import { strict, Timestamp, Uuid } from './scalars.ts';

/** What a message of the stream is about: a listener reads again what it shows of it. */
export const STREAM_TOPICS = [
  'updates',
  'hosts',
  'commands',
  'events',
  'keys',
  'limits',
  'operators',
  'advisories',
  'bulk',
] as const;
export const StreamTopic = Type.Enum(STREAM_TOPICS);
export type StreamTopic = Static<typeof StreamTopic>;

/** Most ids that one message names; where more changed it names none, and everything of the topic may have. */
export const STREAM_IDS_MAX = 50;

/**
 * `data:` of each message of GET /api/v1/stream: that something changed, and never what. Nothing is sent again after
 * a reconnection: whoever opens the stream reads what it shows first.
 */
export const StreamMessage = strict({
  topic: StreamTopic,
  /** Ids of the rows of the topic, where they are few and known; absent: any of them. */
  ids: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: STREAM_IDS_MAX })),
  at: Timestamp,
});
export type StreamMessage = Static<typeof StreamMessage>;
