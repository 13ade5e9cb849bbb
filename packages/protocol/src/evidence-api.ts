import { type Static, Type } from 'typebox';
import { Count, nullable, Sha256Hex, strict, Timestamp, Uuid } from './scalars.ts';

/** Payload type of the manifest of an evidence bundle (docs/evidence.md). */
export const EVIDENCE_TYPE = 'application/vnd.tidegate.evidence.v1+json';

/** Of a bundle: a tar archive. */
export const EVIDENCE_MEDIA_TYPE = 'application/x-tar';

const Place = strict({ position: Count, hash: nullable(Sha256Hex) });

/** Whose evidence it is. `groups`: of an operator who is bound to them. */
export const EvidenceScope = Type.Union([
  strict({ kind: Type.Literal('host'), agent_id: Uuid }),
  strict({ kind: Type.Literal('group'), group: Type.String() }),
  strict({ kind: Type.Literal('groups'), groups: Type.Array(Type.String()) }),
  strict({ kind: Type.Literal('fleet') }),
]);
export type EvidenceScope = Static<typeof EvidenceScope>;

export const EvidenceManifest = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  scope: EvidenceScope,
  since: Timestamp,
  until: Timestamp,
  made_at: Timestamp,
  made_by: Type.String(),
  hosts: Count,
  /** Where the events begin and end; null: their chain is not in the bundle. */
  chain: nullable(strict({ start: Place, end: Place })),
  /** How many lines each folder has, also where there are none. */
  lines: Type.Record(Type.String(), Count),
  /** What the bundle cannot say, in sentences. */
  unknown: Type.Array(Type.String()),
  files: Type.Array(strict({ name: Type.String(), bytes: Count, sha256: Sha256Hex })),
});
export type EvidenceManifest = Static<typeof EvidenceManifest>;
