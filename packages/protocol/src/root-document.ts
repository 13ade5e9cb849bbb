import { type Static, Type } from 'typebox';
import { Ordinal, PublicKeyHex, strict, Timestamp, Uuid } from './scalars.ts';

export const ROOT_TYPE = 'application/vnd.tidegate.root.v1+json';

/** Most keys of one root: those of the old and of the new sign a change, and an envelope holds 16 signatures. */
export const ROOT_KEYS_MAX = 8;
/** Most root documents of one fleet: all of them are handed to a host that knows none. */
export const ROOTS_MAX = 64;

/**
 * The offline keys of a fleet and how many of them must sign (docs/protocol/documents.md). A key is named by its
 * public half alone. It does not expire: the key set provides freshness, and an expired root would strand the
 * fleet.
 */
export const RootPayload = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  version: Ordinal,
  issued_at: Timestamp,
  threshold: Type.Integer({ minimum: 1, maximum: ROOT_KEYS_MAX }),
  keys: Type.Array(PublicKeyHex, { minItems: 1, maxItems: ROOT_KEYS_MAX, uniqueItems: true }),
});
export type RootPayload = Static<typeof RootPayload>;
