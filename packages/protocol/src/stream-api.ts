import { type Static, Type } from 'typebox';
import { strict, Timestamp, Uuid } from './scalars.ts';

/** The topic of a stream message: listeners reload what they show of it. */
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
  'notifications',
] as const;
export const StreamTopic = Type.Enum(STREAM_TOPICS);
export type StreamTopic = Static<typeof StreamTopic>;

/** Maximum ids in a message; when more changed it has none, and any row of the topic may have changed. */
export const STREAM_IDS_MAX = 50;

/**
 * `data:` of each message of GET /api/v1/stream: only that something changed, never the data. Nothing is replayed
 * after a reconnection: a client opens the stream first and then loads its data.
 */
export const StreamMessage = strict({
  topic: StreamTopic,
  /** Ids of the rows of the topic, where they are few and known; absent: any of them. */
  ids: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: STREAM_IDS_MAX })),
  at: Timestamp,
});
export type StreamMessage = Static<typeof StreamMessage>;
