import { type Static, Type } from 'typebox';
import { Count, Ecosystem, strict, Timestamp, Uuid } from './scalars.ts';

/** Longest reason that an operator may give, in characters. */
const REASON_MAX_CHARS = 4_096;

export const HashAlgorithm = Type.Enum(['sha256', 'sha512']);
export type HashAlgorithm = Static<typeof HashAlgorithm>;

const TextOrNull = Type.Union([Type.String(), Type.Null()]);
const HashHex = Type.String({ pattern: '^([0-9a-f]{64}|[0-9a-f]{128})$', maxLength: 128 });

/** One of the hashes that a diverging artifact was seen with, and who told it first. */
export const DivergentHash = strict({
  hash: HashHex,
  /** `disputed` and `refused` block every update that binds the hash. */
  standing: Type.Enum(['disputed', 'accepted', 'refused']),
  agent_id: Uuid,
  origin: TextOrNull,
  /** Without credentials and query. */
  url: Type.String(),
  seen_at: Timestamp,
});

/** One artifact that the fleet was told of with different hashes. */
export const Divergence = strict({
  id: Uuid,
  ecosystem: Ecosystem,
  /** The distribution, for apt and dnf: two of them build one version each for itself. */
  distribution: TextOrNull,
  name: Type.String(),
  version: Type.String(),
  /** Architecture for apt and dnf, file name for PyPI, null for npm. */
  variant: TextOrNull,
  algorithm: HashAlgorithm,
  state: Type.Enum(['open', 'decided']),
  hashes: Type.Array(DivergentHash),
  opened_at: Timestamp,
  decided_at: Type.Union([Timestamp, Type.Null()]),
  decided_by: TextOrNull,
  reason: TextOrNull,
});
export type Divergence = Static<typeof Divergence>;

/** Which hash is the right one, or that all of them are; the others stay blocked. */
export const DecideDivergenceRequest = strict({
  accept: Type.Union([Type.Literal('all'), HashHex]),
  reason: Type.String({ minLength: 1, maxLength: REASON_MAX_CHARS, pattern: '\\S' }),
  /** How many hashes the operator has seen: 409 where it are others by now. */
  confirm_count: Type.Optional(Count),
});
export type DecideDivergenceRequest = Static<typeof DecideDivergenceRequest>;
