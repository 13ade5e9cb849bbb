import { type Static, Type } from 'typebox';
import {
  GateDivergence,
  OriginChange,
  ProvenanceStatus,
  ThirdPartyPackage,
  UnknownArtifact,
  VendorWord,
} from './approvals-api.ts';
import { APPROVAL_MAX_UPDATES } from './documents.ts';
import { PolicyReference, PolicyTerms } from './policies-api.ts';
import { UnprovenRule } from './rings.ts';
import { Count, Ecosystem, nullable, Ordinal, Sha256Hex, strict, Timestamp, Uuid } from './scalars.ts';
import { UncheckedReason, VulnerabilityVerdict } from './states.ts';
import { VexScope } from './vex-api.ts';

/** DSSE payload type of an in-toto statement. */
export const STATEMENT_TYPE = 'application/vnd.in-toto+json';
export const STATEMENT_V1 = 'https://in-toto.io/Statement/v1';
/** What the predicate of a signed decision means; the name stays, a new meaning gets a new number. */
export const DECISION_PREDICATE_TYPE = 'urn:tidegate:predicate:gate-decision:v1';

const TextOrNull = nullable(Type.String());
const NumberOrNull = nullable(Type.Number());
/** A list that was cut, with how many there were. */
const cut = <T extends Parameters<typeof Type.Array>[0]>(item: T) =>
  strict({ total: Count, items: Type.Array(item) });

const Stop = strict({ by: Type.String(), reason: Type.String() });

/** Ids of operators' statements that excused a vulnerability; absent if none did. */
const Statements = Type.Optional(Type.Array(Uuid));

export const RecordedVerdict = Type.Union([
  strict({
    kind: Type.Literal('mint'),
    waived: nullable(Stop),
    warnings: Type.Array(Type.String()),
    statements: Statements,
  }),
  strict({ kind: Type.Literal('blocked'), stop: Stop, overridable: Type.Boolean(), statements: Statements }),
  strict({
    kind: Type.Enum(['plan_unknown', 'plan_required', 'override_reason_required', 'verdict_pending']),
  }),
]);
export type RecordedVerdict = Static<typeof RecordedVerdict>;

/** Records keep their form when reports gain members: later members are optional. */
const RecordedFinding = strict({
  package: Type.String(),
  version: Type.String(),
  id: Type.String(),
  aliases: Type.Array(Type.String()),
  severity: TextOrNull,
  summary: Type.String(),
  fixed_in: TextOrNull,
  in_closure: Type.Enum(['top', 'dependency']),
  change: Type.Enum(['introduced', 'still_present']),
  malicious: Type.Boolean(),
  kev: Type.Optional(Type.Boolean()),
  epss: Type.Optional(NumberOrNull),
  /** Ids by which a statement may name it, and the word of its distribution. */
  names: Type.Optional(Type.Array(Type.String())),
  vendor: Type.Optional(nullable(VendorWord)),
});

const RecordedFix = strict({
  id: Type.String(),
  package: Type.String(),
  version: Type.Optional(Type.String()),
  aliases: Type.Optional(Type.Array(Type.String())),
  severity: Type.Optional(TextOrNull),
  summary: Type.Optional(Type.String()),
  kev: Type.Optional(Type.Boolean()),
  epss: Type.Optional(NumberOrNull),
});

/** What the gate was told, the longest lists cut. Times are milliseconds since the epoch, as they were compared. */
export const RecordedFacts = strict({
  ecosystem: Ecosystem,
  advisories: Type.Enum(['judged', 'pending', 'unreachable']),
  /** Absent where it was not looked up, and in records from before there was any. */
  provenance: Type.Optional(
    cut(
      strict({
        package: Type.String(),
        version: Type.String(),
        status: ProvenanceStatus,
        dropped: Type.Boolean(),
      }),
    ),
  ),
  /** Packages from another vendor than the version on the host; absent as above. */
  origin_changes: Type.Optional(cut(OriginChange)),
  judged: nullable(
    strict({
      closure: strict({
        verdict: VulnerabilityVerdict,
        unchecked: nullable(Type.Enum(['unreachable', 'undecidable', 'uncovered'])),
        findings: cut(RecordedFinding),
        fixed: cut(RecordedFix),
        missing: strict({ after: Count, before: Count }),
        checked_at_ms: NumberOrNull,
        source: TextOrNull,
        snapshot: TextOrNull,
      }),
      age: strict({
        status: Type.Enum(['ok', 'violation', 'unknown_age', 'not_applicable', 'off']),
        minimum_hours: Type.Number(),
        pending: Type.Boolean(),
        violations: cut(
          strict({
            package: Type.String(),
            version: Type.String(),
            published_at_ms: NumberOrNull,
            age_hours: NumberOrNull,
          }),
        ),
        times: cut(
          strict({
            package: Type.String(),
            version: Type.String(),
            published_at_ms: NumberOrNull,
            source: Type.String(),
          }),
        ),
        excepted: cut(strict({ package: Type.String(), version: Type.String() })),
      }),
      divergences: cut(GateDivergence),
      /** Packages on hold; absent if there are none, and in records before gate version 7. */
      held: Type.Optional(
        cut(
          strict({
            package: Type.String(),
            version: TextOrNull,
            hold_id: Uuid,
            reason: Type.String(),
            ends_at_ms: Type.Number(),
          }),
        ),
      ),
      /** Operators' statements that excuse findings; of their versions only those of the findings. */
      statements: Type.Optional(
        cut(
          strict({
            id: Uuid,
            sha256: Sha256Hex,
            status: Type.Enum(['not_affected', 'accepted']),
            vulnerability: Type.String(),
            package: Type.String(),
            distribution: TextOrNull,
            versions: Type.Array(Type.String()),
            scope: VexScope,
            ends_at_ms: Type.Number(),
          }),
        ),
      ),
      /** Packages of third parties; absent if there are none. */
      origins: Type.Optional(
        strict({
          total: Count,
          uncovered: Count,
          items: Type.Array(
            strict({
              package: Type.String(),
              version: Type.String(),
              arch: TextOrNull,
              origin: Type.String(),
              key: TextOrNull,
              standing: ThirdPartyPackage.properties.standing,
              registration: nullable(
                strict({
                  id: Uuid,
                  sha256: Sha256Hex,
                  rule: Type.Enum(['ask', 'allow_older_than', 'allow']),
                  min_age_days: NumberOrNull,
                  reason: Type.String(),
                  ends_at_ms: Type.Number(),
                }),
              ),
              first_seen_at_ms: NumberOrNull,
            }),
          ),
        }),
      ),
      /** Absent in records of gate version 1, which did not ask. */
      registry: Type.Optional(strict({ pending: Type.Boolean(), contradicted: cut(UnknownArtifact) })),
    }),
  ),
});
export type RecordedFacts = Static<typeof RecordedFacts>;

/** What a policy asked for: its terms, and what they were compared with. */
export const RecordedStanding = strict({
  ...PolicyReference.properties,
  terms: PolicyTerms,
  updates: Type.Array(
    strict({
      ecosystem: Ecosystem,
      name: Type.String(),
      /** Absent in records before gate version 8. */
      version: Type.Optional(Type.String()),
      origin: TextOrNull,
      security: Type.Boolean(),
      fixes: nullable(Type.Array(TextOrNull)),
      change: nullable(Type.Enum(['patch', 'minor', 'major'])),
    }),
    { minItems: 1, maxItems: APPROVAL_MAX_UPDATES },
  ),
  /** Versions that are new to the host, and since when each was known. */
  brought: cut(strict({ package: Type.String(), version: Type.String(), since_ms: NumberOrNull })),
  at_ms: Type.Number(),
  /** Of a policy with rings: where the host stood. */
  ring: Type.Optional(
    strict({
      ring: Count,
      name: Type.String(),
      /** Whether these rollouts had entered its ring. */
      entered: Type.Boolean(),
      rollouts: Type.Array(Uuid),
      entered_at_ms: NumberOrNull,
      rule: UnprovenRule,
      /** What the plan brings and no inner ring had installed with that hash. */
      unproven: cut(strict({ package: Type.String(), version: Type.String() })),
    }),
  ),
});
export type RecordedStanding = Static<typeof RecordedStanding>;

/** A decision of the gate with all its inputs: enough to repeat it, without secrets. */
export const RecordedDecision = strict({
  v: Type.Literal(1),
  id: Uuid,
  gate_version: Ordinal,
  decided_at: Timestamp,
  via: Type.Enum(['approve', 'bulk', 'sweep', 'policy']),
  /** The event of the bulk request that asked; absent where none did, and in records of older servers. */
  bulk_id: Type.Optional(Uuid),
  actor: Type.String(),
  /** The responsible operator, also when the sweep or a policy acts on their behalf. */
  approved_by: TextOrNull,
  agent_id: Uuid,
  /** The set that was judged as one closure, in ascending order of id. */
  updates: Type.Array(
    strict({
      id: Uuid,
      name: Type.String(),
      arch: TextOrNull,
      from_version: TextOrNull,
      to_version: Type.String(),
    }),
    { minItems: 1, maxItems: APPROVAL_MAX_UPDATES },
  ),
  plan: nullable(strict({ id: Uuid, plan_sha256: Sha256Hex })),
  policy: strict({
    age_mode: Type.Enum(['block', 'warn', 'off']),
    vulnerabilities: Type.Enum(['any', 'introduced']),
    uncovered: Type.Enum(['block', 'warn']),
    /** Absent in records before gate version 3: nothing was excused. */
    unimportant: Type.Optional(Type.Enum(['pass', 'block'])),
    /** Absent in records before gate version 4, which decided as with warn. */
    unchecked: Type.Optional(Type.Enum(['block', 'warn'])),
  }),
  request: strict({
    by: Type.Enum(['operator', 'sweep', 'policy']),
    override: Type.Boolean(),
    /** The reason itself is in the event of the override. */
    override_reason: nullable(strict({ sha256: Sha256Hex, blank: Type.Boolean() })),
    /** Absent where no policy asks. */
    standing: Type.Optional(RecordedStanding),
  }),
  facts: RecordedFacts,
  verdict: RecordedVerdict,
  outcome: Type.Enum(['minted', 'blocked', 'handed_back']),
  outcome_reason: TextOrNull,
  token_id: nullable(Uuid),
});
export type RecordedDecision = Static<typeof RecordedDecision>;

export const DecisionItem = strict({
  id: Uuid,
  decided_at: Timestamp,
  outcome: Type.Enum(['minted', 'blocked', 'handed_back']),
  actor: Type.String(),
  token_id: nullable(Uuid),
  /** Why some packages were not checked then; `undecidable` also for a record that was changed since. */
  unchecked: nullable(UncheckedReason),
  /** Operators' statements that excused a vulnerability; none for a record that was changed since. */
  statements: Type.Array(
    strict({
      id: Uuid,
      status: Type.Enum(['not_affected', 'accepted']),
      vulnerability: Type.String(),
      package: Type.String(),
    }),
  ),
  /** SHA-256 of the RFC 8785 form of the record. */
  sha256: Sha256Hex,
  /** How often the same decision was repeated, and when last. */
  repeats: Count,
  repeated_at: nullable(Timestamp),
});
export type DecisionItem = Static<typeof DecisionItem>;

export const DecisionDetail = strict({
  ...DecisionItem.properties,
  record: RecordedDecision,
  /** Whether the gate of this server decides the same from what was recorded. */
  replays: Type.Boolean(),
});
export type DecisionDetail = Static<typeof DecisionDetail>;

const Digest = strict({ sha256: Type.Optional(Sha256Hex), sha512: Type.Optional(Type.String()) });

/** in-toto Statement v1 about the artifacts of a plan, with the decision as its predicate. */
export const DecisionStatement = strict({
  _type: Type.Literal(STATEMENT_V1),
  subject: Type.Array(
    strict({
      name: Type.String(),
      digest: Digest,
      annotations: Type.Optional(Type.Record(Type.String(), Type.String())),
    }),
    { minItems: 1 },
  ),
  predicateType: Type.Literal(DECISION_PREDICATE_TYPE),
  predicate: strict({
    fleet_id: Uuid,
    decision_id: Uuid,
    /** SHA-256 of the RFC 8785 form of the record, which holds the inputs. */
    record_sha256: Sha256Hex,
    gate_version: Ordinal,
    via: Type.String(),
    agent_id: Uuid,
    updates: RecordedDecision.properties.updates,
    ecosystem: Ecosystem,
    plan_sha256: Sha256Hex,
    policy: RecordedDecision.properties.policy,
    snapshot: strict({ source: TextOrNull, snapshot: TextOrNull, checked_at_ms: NumberOrNull }),
    verdict: RecordedVerdict,
    outcome: RecordedDecision.properties.outcome,
    outcome_reason: TextOrNull,
    token_id: nullable(Uuid),
    override: nullable(strict({ by: Type.String(), reason_sha256: Sha256Hex })),
    decided_at: Timestamp,
    decided_by: Type.String(),
    approved_by: TextOrNull,
    signed_at: Timestamp,
  }),
});
export type DecisionStatement = Static<typeof DecisionStatement>;
