import { AgentVersion, Count, nullable, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import { readTrustedJson } from '../../platform/trusted-json.ts';
import type { OwnPlaces } from '../ecosystem.ts';

const RECORD_MAX_BYTES = 256 * 1024;
export const FAILURES_MAX = 50;

/** One version on trial, or the last one that was. */
const Trial = strict({
  command_id: Uuid,
  update_ids: Type.Array(Uuid, { maxItems: 10 }),
  from: AgentVersion,
  to: AgentVersion,
  began_at: Timestamp,
  /** How often an executor began to watch it: one that is always killed must not go on for ever. */
  watches: Count,
  /** The newest signed state that was seen before the switch. */
  state_before: nullable(Timestamp),
  phase: Type.Enum(['trying', 'proven', 'failed']),
  /** Why it failed. */
  detail: nullable(Type.String({ maxLength: 1_000 })),
});
export type Trial = Static<typeof Trial>;

const Trials = strict({
  v: Type.Literal(1),
  last: nullable(Trial),
  failures: Type.Array(strict({ version: AgentVersion, times: Count, last_at: Timestamp }), {
    maxItems: FAILURES_MAX,
  }),
});
export type Trials = Static<typeof Trials>;

const NONE: Trials = { v: 1, last: null, failures: [] };

/** What the executor remembers of the versions that it tried; nothing where there is no such file. */
export function readTrials({ trials, ownerUid }: Pick<OwnPlaces, 'trials' | 'ownerUid'>): Trials {
  const trust = { maxBytes: RECORD_MAX_BYTES, ownerUid, forbiddenMode: 0o022 };
  return readTrustedJson(trials, Trials, trust) ?? NONE;
}
