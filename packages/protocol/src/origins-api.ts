import { type Static, Type } from 'typebox';
import { Envelope } from './documents.ts';
import { KeyFingerprint, nullable, Sha256Hex, strict, Timestamp, Uuid } from './scalars.ts';

/** DSSE payload type of a registered origin. */
export const ORIGIN_TYPE = 'application/vnd.tidegate.origin.v1+json';
/** Registered origins in force at one time. */
export const ORIGINS_MAX = 500;

/** ask: updates stop as without it, and show it; the other two let them pass, one of them when old enough. */
export const OriginRule = Type.Enum(['ask', 'allow_older_than', 'allow']);
export type OriginRule = Static<typeof OriginRule>;

/** Suites of one repository that one key signs, and what the gate does about their packages until a time. */
export const OriginRequest = strict({
  ecosystem: Type.Enum(['apt', 'dnf']),
  key: KeyFingerprint,
  /** `Label:suite` of apt, without a version; the repository's id of dnf. */
  suites: Type.Array(Type.String({ minLength: 1, maxLength: 256, pattern: '\\S' }), {
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
  }),
  rule: OriginRule,
  /** For `allow_older_than`, null otherwise: days since the server first saw the file. */
  min_age_days: nullable(Type.Integer({ minimum: 1, maximum: 365 })),
  reason: Type.String({ minLength: 1, maxLength: 2_000, pattern: '\\S' }),
  ends_at: Timestamp,
});
export type OriginRequest = Static<typeof OriginRequest>;

export const Origin = strict({
  id: Uuid,
  ...OriginRequest.properties,
  state: Type.Enum(['in_force', 'expired', 'revoked']),
  /** SHA-256 of the signed payload; decisions and tokens name it. */
  sha256: Sha256Hex,
  created_by: Type.String(),
  created_at: Timestamp,
  ended_by: nullable(Type.String()),
  ended_at: nullable(Timestamp),
});
export type Origin = Static<typeof Origin>;

export const OriginDetail = strict({ ...Origin.properties, envelope: Envelope });
export type OriginDetail = Static<typeof OriginDetail>;

/** What the server signs when an origin is registered. */
export const OriginPayload = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  origin_id: Uuid,
  ...OriginRequest.properties,
  created_by: Type.String(),
  created_at: Timestamp,
});
export type OriginPayload = Static<typeof OriginPayload>;
