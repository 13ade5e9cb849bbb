import { type Static, Type } from 'typebox';
import { HashAlgorithm } from './artifacts-api.ts';
import { Envelope } from './documents.ts';
import { POLICY_MISMATCHES } from './policies-api.ts';
import {
  Count,
  Ecosystem,
  nullable,
  nullish,
  PackageName,
  PackageVersion,
  strict,
  Timestamp,
  Uuid,
} from './scalars.ts';
import { VulnerabilityVerdict } from './states.ts';
import { UpdateFilter } from './updates-api.ts';
import { VulnerabilityPolicy } from './vulnerability-policy-api.ts';

/** Longest reason that an operator may give, in characters. */
export const REASON_MAX_CHARS = 4_096;
/** Most updates that one bulk request names (E4). */
export const BULK_MAX_UPDATES = 10_000;

const Reason = Type.String({ maxLength: REASON_MAX_CHARS });

/** E3. The body may be absent: an approval without override. */
export const ApproveRequest = nullable(
  strict({
    override_supply_chain: Type.Optional(Type.Boolean()),
    override_reason: Type.Optional(Reason),
    not_before: Type.Optional(Timestamp),
  }),
);
export type ApproveRequest = Static<typeof ApproveRequest>;

export const Warning = strict({ code: Type.String(), detail: Type.String() });
export type Warning = Static<typeof Warning>;

export const ApproveAnswer = strict({
  update_id: Uuid,
  state: Type.Literal('approved'),
  token: Envelope,
  warnings: Type.Array(Warning),
});
export type ApproveAnswer = Static<typeof ApproveAnswer>;

/** An additional signature over an approval's payload, for hosts that require more than the server's. */
export const CountersignRequest = strict({
  keyid: Type.String({ minLength: 1, maxLength: 128 }),
  /** 64 bytes of Ed25519 over DSSE's encoding of type and payload. */
  sig: Type.String({ pattern: '^[A-Za-z0-9+/]{85}[AQgw]==$' }),
});
export const CountersignAnswer = strict({ update_id: Uuid, token: Envelope });

export const AwaitingPlanAnswer = strict({ update_id: Uuid, state: Type.Literal('awaiting_plan') });

export const UpdatePackage = strict({ ecosystem: Ecosystem, name: PackageName, version: PackageVersion });
export type UpdatePackage = Static<typeof UpdatePackage>;

/** What a distribution says itself about a vulnerability of its package. */
export const VendorWord = strict({
  by: Type.Enum(['debian', 'ubuntu', 'redhat']),
  status: Type.Enum([
    ...['unimportant', 'negligible', 'not_affected', 'ignored', 'postponed', 'deferred', 'no_dsa'],
    ...['will_not_fix', 'under_investigation', 'end_of_life', 'out_of_support'],
  ] as const),
});

/** Why a finding does not stop the update. */
export const FindingExcuse = strict({
  by: Type.Enum(['vendor', 'statement']),
  vendor: Type.Optional(VendorWord.properties.by),
  /** Of an operator's statement (VEX). */
  statement_id: Type.Optional(Uuid),
  status: Type.Enum(['unimportant', 'not_affected', 'accepted']),
});

/** A known vulnerability of a version that the update installs. */
export const GateFinding = strict({
  package: Type.String(),
  version: Type.String(),
  id: Type.String(),
  aliases: Type.Array(Type.String()),
  severity: nullable(Type.String()),
  summary: Type.String(),
  fixed_in: nullable(Type.String()),
  in_closure: Type.Enum(['top', 'dependency']),
  /** Known to be exploited (KEV), absent where that is not known; and how likely it is (EPSS, 0 to 1). Neither softens anything. */
  kev: Type.Optional(Type.Boolean()),
  epss: nullish(Type.Number()),
  vendor: nullable(VendorWord),
  /** Null: it counts. */
  excuse: nullable(FindingExcuse),
});
export type GateFinding = Static<typeof GateFinding>;

/** A known vulnerability of a version on the host that the version after the update does not have. */
export const GateFix = strict({
  package: Type.String(),
  /** The version on the host. */
  version: Type.String(),
  id: Type.String(),
  aliases: Type.Array(Type.String()),
  severity: nullable(Type.String()),
  summary: Type.String(),
  kev: GateFinding.properties.kev,
  epss: GateFinding.properties.epss,
});
export type GateFix = Static<typeof GateFix>;

/** The three parts of a verdict. */
const verdictParts = {
  /** Vulnerabilities that the host is not known to have now. */
  introduces: Type.Array(GateFinding),
  /** Vulnerabilities that the host has now and keeps. */
  stays: Type.Array(GateFinding),
  fixes: Type.Array(GateFix),
  /** False if a package could not be checked, so that what it fixes may be missing from `fixes`. */
  fixes_complete: Type.Boolean(),
  /** Why packages could not be checked, so that vulnerabilities may be missing; null: all were, or no plan is known. */
  unchecked: nullable(Type.Enum(['unreachable', 'undecidable', 'uncovered'])),
};

export const AgeReport = strict({
  minimum_hours: Type.Number(),
  violations: Type.Array(
    strict({
      package: Type.String(),
      version: Type.String(),
      published_at: nullable(Timestamp),
      age_hours: nullable(Type.Number()),
    }),
  ),
  /** The release times used for the decision, with the registry of each. */
  times: Type.Array(
    strict({
      package: Type.String(),
      version: Type.String(),
      published_at: nullable(Timestamp),
      source: Type.String(),
    }),
  ),
});
export type AgeReport = Static<typeof AgeReport>;

/** An artifact of the plan whose hash conflicts with other sources. */
export const GateDivergence = strict({
  /** Null when the plan's host is or was excluded and nobody else reported the hash. */
  divergence_id: nullable(Uuid),
  package: Type.String(),
  version: Type.String(),
  algorithm: HashAlgorithm,
  hash: Type.String(),
});
export type GateDivergence = Static<typeof GateDivergence>;

/** An artifact of the plan that its registry does not have under this name and version. */
export const UnknownArtifact = strict({
  package: Type.String(),
  version: Type.String(),
  algorithm: HashAlgorithm,
  hash: Type.String(),
  /** The registry that was asked. */
  source: Type.String(),
});
export type UnknownArtifact = Static<typeof UnknownArtifact>;

/** A package that the plan would change and that an operator keeps as it is. */
export const GateHold = strict({
  package: Type.String(),
  /** To which the plan would take it; null: it would be removed. */
  version: nullable(Type.String()),
  hold_id: Uuid,
  reason: Type.String(),
  ends_at: Timestamp,
});
export type GateHold = Static<typeof GateHold>;

export const BlockedBy = Type.Enum([
  'divergence',
  'registry',
  'hold',
  'age',
  'policy',
  'vulnerability',
  'unchecked',
]);
export type BlockedBy = Static<typeof BlockedBy>;
/** What `policy` blocks is only in the records of policies: a person is never stopped by it. */
export const BlockReason = Type.Enum([
  'artifact_divergence',
  'artifact_unknown_to_registry',
  'held',
  'known_vulnerability',
  'too_young',
  'unknown_age',
  'unreachable',
  'uncovered',
  'undecidable',
  ...POLICY_MISMATCHES,
  'policy_age',
  'policy_age_unknown',
  'age_exception',
  'ring_not_entered',
  'unproven',
]);
export type BlockReason = Static<typeof BlockReason>;

export const ProvenanceStatus = Type.Enum(['verified', 'unverified', 'absent', 'unknown', 'mismatch']);

/** A package of a third party's repository: what the host said, and the registration that applies. */
export const ThirdPartyPackage = strict({
  package: Type.String(),
  version: Type.String(),
  arch: nullable(Type.String()),
  origin: Type.String(),
  /** The same as suites, as a registration names them. */
  suites: Type.Array(Type.String()),
  /** Who signed the repository, as this host says. */
  key: nullable(Type.String()),
  standing: Type.Enum(['allowed', 'asks', 'too_young', 'disputed', 'not_registered', 'key_unknown']),
  registration: nullable(
    strict({
      id: Uuid,
      rule: Type.Enum(['ask', 'allow_older_than', 'allow']),
      min_age_days: nullable(Type.Integer()),
      reason: Type.String(),
      ends_at: Timestamp,
    }),
  ),
  /** When the server first saw exactly this file. */
  first_seen_at: nullable(Timestamp),
});
export type ThirdPartyPackage = Static<typeof ThirdPartyPackage>;

/** A package of the closure whose vendor is another than that of the version on the host. */
export const OriginChange = strict({
  package: Type.String(),
  arch: nullable(Type.String()),
  /** As the package manager names it; null: nobody knows where the version on the host came from. */
  from: nullable(Type.String()),
  to: Type.String(),
});
export type OriginChange = Static<typeof OriginChange>;

/** What the gate says of an update: members of `approval_blocked`, answer of preview, `gate` of GET /updates/{id}. */
export const GateReport = strict({
  update_id: Uuid,
  package: UpdatePackage,
  blocked_by: nullable(BlockedBy),
  overridable: Type.Boolean(),
  reason: nullable(BlockReason),
  ...verdictParts,
  age: nullable(AgeReport),
  divergences: Type.Array(GateDivergence),
  unknown_artifacts: Type.Array(UnknownArtifact),
  held: Type.Array(GateHold),
  /** When the fleet first reported the versions new to the host: informational, and the only age for apt and dnf. */
  first_seen: Type.Array(
    strict({ package: Type.String(), version: Type.String(), first_seen_at: Timestamp }),
  ),
  /** The attested provenance of the versions new to the host; it never blocks. */
  provenance: Type.Array(
    strict({
      package: Type.String(),
      version: Type.String(),
      status: ProvenanceStatus,
      /** Both from the certificate of a signer that was verified. */
      source_repository: Type.Optional(Type.String()),
      builder: Type.Optional(Type.String()),
      /** The version on the host has provenance and this one has none. */
      dropped: Type.Boolean(),
    }),
  ),
  /** It never blocks, as another vendor may be what the operator wants. */
  origin_changes: Type.Array(OriginChange),
  /** Packages from third parties, with what was registered for them. */
  third_party: Type.Array(ThirdPartyPackage),
  verdict: VulnerabilityVerdict,
  /** The policy that it was judged by; null: not judged. */
  vulnerability_policy: nullable(VulnerabilityPolicy),
  checked_at: nullable(Timestamp),
  source: nullable(Type.String()),
  snapshot: nullable(Type.String()),
});
export type GateReport = Static<typeof GateReport>;

/** Chosen by the sender, to ask how far the request is (GET /api/v1/bulk/:progress_id). */
const progress_id = Type.Optional(Uuid);

/** E4. No field of it is an override (A6). */
export const BulkApproveRequest = Type.Union([
  strict({ update_ids: Type.Array(Uuid, { minItems: 1, maxItems: BULK_MAX_UPDATES }), progress_id }),
  strict({ filter: UpdateFilter, confirm_count: Count, progress_id }),
]);
export type BulkApproveRequest = Static<typeof BulkApproveRequest>;

/** Origins that a blocked update of a bulk request names. */
export const BLOCKED_ORIGINS_MAX = 10;

export const BulkBlocked = strict({
  update_id: Uuid,
  package: UpdatePackage,
  blocked_by: BlockedBy,
  reason: BlockReason,
  ...verdictParts,
  age: nullable(AgeReport),
  divergences: Type.Array(GateDivergence),
  unknown_artifacts: Type.Array(UnknownArtifact),
  held: Type.Array(GateHold),
  /** One package of each third-party origin, of the first ones. */
  third_party: Type.Array(ThirdPartyPackage, { maxItems: BLOCKED_ORIGINS_MAX }),
});
export type BulkBlocked = Static<typeof BulkBlocked>;

export const BulkApproveAnswer = strict({
  approved: Type.Array(strict({ update_id: Uuid, token_id: Uuid })),
  awaiting_plan: Type.Array(Uuid),
  blocked: Type.Array(BulkBlocked),
  skipped: Type.Array(strict({ update_id: Uuid, code: Type.String() })),
});
export type BulkApproveAnswer = Static<typeof BulkApproveAnswer>;

/** Transactions of a preview that are described, the largest first. */
export const PREVIEW_SETS_MAX = 20;
/** Packages that one of them names, and updates that a preview names as left out. */
export const PREVIEW_NAMES_MAX = 200;

/** What a transaction would do to its host. */
export const TransactionPreview = strict({
  agent_id: Uuid,
  hostname: Type.String(),
  ecosystem: Ecosystem,
  place: nullable(Type.String({ description: 'of npm and PyPI packages' })),
  update_ids: Type.Array(Uuid, { maxItems: BULK_MAX_UPDATES }),
  /** Null: the host is asked for its plan first. */
  plan: nullable(
    strict({
      removes: Type.Array(PackageName, { maxItems: PREVIEW_NAMES_MAX }),
      installs: Type.Array(PackageName, { maxItems: PREVIEW_NAMES_MAX }),
      downgrades: Type.Array(PackageName, { maxItems: PREVIEW_NAMES_MAX }),
      counts: strict({ remove: Count, install: Count, downgrade: Count, upgrade: Count }),
      download_bytes: Count,
    }),
  ),
});
export type TransactionPreview = Static<typeof TransactionPreview>;

/** What a bulk request would do now. */
export const BulkPreview = strict({
  updates: Count,
  hosts: Count,
  transactions: Count,
  /** Transactions whose plan the hosts are asked for first. */
  unplanned: Count,
  sets: Type.Array(TransactionPreview, { maxItems: PREVIEW_SETS_MAX }),
  left_out: Type.Array(strict({ update_id: Uuid, code: Type.String() }), { maxItems: PREVIEW_NAMES_MAX }),
  left_out_count: Count,
});
export type BulkPreview = Static<typeof BulkPreview>;

export const RejectRequest = nullable(strict({ reason: Type.Optional(Reason) }));
export const ReopenRequest = nullable(strict({ reason: Type.Optional(Reason) }));
export const StateAnswer = strict({ update_id: Uuid, state: Type.Enum(['pending', 'rejected']) });

/** Ecosystems that have release times, so that the age gate applies (A7). */
export const AgedEcosystem = Type.Enum(['npm', 'pypi']);

export const AgeExceptionRequest = strict({
  ecosystem: AgedEcosystem,
  name: PackageName,
  version: PackageVersion,
  reason: Type.String({ minLength: 1, maxLength: REASON_MAX_CHARS, pattern: '\\S' }),
  expires_at: Timestamp,
});
export type AgeExceptionRequest = Static<typeof AgeExceptionRequest>;

export const AgeException = strict({
  id: Uuid,
  ...AgeExceptionRequest.properties,
  created_by: Type.String(),
  created_at: Timestamp,
});
export type AgeException = Static<typeof AgeException>;
