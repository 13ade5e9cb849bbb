import { type Static, Type } from 'typebox';
import { Count, Ecosystem, nullable, strict, Timestamp, Uuid } from './scalars.ts';

/** Longest reason that an operator may give, in characters. */
const REASON_MAX_CHARS = 4_096;

export const HashAlgorithm = Type.Enum(['sha256', 'sha512']);
export type HashAlgorithm = Static<typeof HashAlgorithm>;

const TextOrNull = nullable(Type.String());
const HashHex = Type.String({ pattern: '^([0-9a-f]{64}|[0-9a-f]{128})$', maxLength: 128 });

/**
 * `accepted` (by an operator), `confirmed` (by the registry) and `established` (by hosts) pass the gate, every other
 * standing blocks each update that binds the hash. `unsupported`: no host that counts names it.
 */
export const HashStanding = Type.Enum([
  'accepted',
  'refused',
  'confirmed',
  'contradicted',
  'established',
  'outvoted',
  'disputed',
  'unsupported',
]);
export type HashStanding = Static<typeof HashStanding>;

/** One hash of a diverging artifact, and who reported it first. */
export const DivergentHash = strict({
  hash: HashHex,
  standing: HashStanding,
  /** Trusted hosts recorded with it; only as many as a decision needs. */
  hosts: Count,
  /** Null where an operator typed it. */
  agent_id: nullable(Uuid),
  origin: TextOrNull,
  /** Without credentials and query. */
  url: Type.String(),
  seen_at: Timestamp,
});

/** An artifact reported to the fleet with different hashes. */
export const Divergence = strict({
  id: Uuid,
  ecosystem: Ecosystem,
  /** The distribution, for apt and dnf: each builds its own packages of a version. */
  distribution: TextOrNull,
  name: Type.String(),
  version: Type.String(),
  /** Architecture for apt and dnf, file name for PyPI, null for npm. */
  variant: TextOrNull,
  algorithm: HashAlgorithm,
  /** `open` waits for an operator; what nobody has to decide is `settled`. */
  state: Type.Enum(['open', 'decided', 'settled']),
  settled_by: nullable(Type.Enum(['operator', 'registry', 'quorum', 'hosts'])),
  hashes: Type.Array(DivergentHash),
  opened_at: Timestamp,
  decided_at: nullable(Timestamp),
  decided_by: TextOrNull,
  reason: TextOrNull,
});
export type Divergence = Static<typeof Divergence>;

const Reason = Type.String({ minLength: 1, maxLength: REASON_MAX_CHARS, pattern: '\\S' });

/** Which hash is the right one, named by a host or typed, or that all listed ones are; the others stay blocked. */
export const DecideDivergenceRequest = strict({
  accept: Type.Union([Type.Literal('all'), HashHex]),
  reason: Reason,
  /** The number of hashes the operator has seen: 409 if it has changed. */
  confirm_count: Type.Optional(Count),
});
export type DecideDivergenceRequest = Static<typeof DecideDivergenceRequest>;

export const UndoDecisionRequest = strict({ reason: Reason });
export type UndoDecisionRequest = Static<typeof UndoDecisionRequest>;

/** Divergences that one request may decide. */
export const DECISIONS_MAX = 200;

/** A decision for each of many divergences, under one reason. */
export const DecideManyRequest = strict({
  decisions: Type.Array(
    strict({
      id: Uuid,
      accept: Type.Union([Type.Literal('all'), HashHex]),
      confirm_count: Type.Optional(Count),
    }),
    { minItems: 1, maxItems: DECISIONS_MAX },
  ),
  reason: Reason,
});
export type DecideManyRequest = Static<typeof DecideManyRequest>;

export const DecideManyResult = strict({
  decided: Type.Array(Uuid),
  failed: Type.Array(
    strict({ id: Uuid, reason: Type.Enum(['not_found', 'hash_of_another_kind', 'count_differs']) }),
  ),
});
export type DecideManyResult = Static<typeof DecideManyResult>;

/** One host's report of a diverging artifact. */
export const ArtifactSighting = strict({
  hash: HashHex,
  agent_id: Uuid,
  hostname: TextOrNull,
  /** False for hosts that are revoked, deleted or set aside. */
  counts: Type.Boolean(),
  /** Whether it contradicted the earlier reports. */
  differs: Type.Boolean(),
  origin: TextOrNull,
  url: Type.String(),
  seen_at: Timestamp,
});
export type ArtifactSighting = Static<typeof ArtifactSighting>;
export const ArtifactSightings = strict({ items: Type.Array(ArtifactSighting) });
export type ArtifactSightings = Static<typeof ArtifactSightings>;

/** A host whose artifact reports do not count, because they conflicted with others too often. */
export const HostSetAside = strict({
  agent_id: Uuid,
  hostname: Type.String(),
  role: Type.Enum(['newcomer', 'opponent']),
  since: Timestamp,
});
export type HostSetAside = Static<typeof HostSetAside>;
export const HostsSetAside = strict({
  items: Type.Array(HostSetAside),
  next_cursor: TextOrNull,
  total: Count,
});

export const TrustHostRequest = strict({ reason: Reason });
export type TrustHostRequest = Static<typeof TrustHostRequest>;
