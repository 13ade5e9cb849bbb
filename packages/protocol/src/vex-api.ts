import { type Static, Type } from 'typebox';
import { REASON_MAX_CHARS } from './approvals-api.ts';
import { Envelope } from './documents.ts';
import {
  AuthorName,
  Count,
  Ecosystem,
  GroupName,
  nullable,
  OsId,
  PackageName,
  PackageVersion,
  Sha256Hex,
  strict,
  Timestamp,
  Uuid,
  VulnerabilityId,
  writtenText,
} from './scalars.ts';

/** DSSE payload type of an operator's statement about a vulnerability. */
export const VEX_STATEMENT_TYPE = 'application/vnd.tidegate.vex-statement.v1+json';
/** Versions that one statement names: exactly these are covered. */
export const VEX_VERSIONS_MAX = 100;
/** Statements in force at one time. */
export const VEX_STATEMENTS_MAX = 2_000;
/** Statements of one imported document. */
export const VEX_IMPORT_MAX = 500;

/** Why a package is not affected (OpenVEX 0.2.0, "Status Justifications"). */
export const VEX_JUSTIFICATIONS = [
  'component_not_present',
  'vulnerable_code_not_present',
  'vulnerable_code_not_in_execute_path',
  'vulnerable_code_cannot_be_controlled_by_adversary',
  'inline_mitigations_already_exist',
] as const;
export const VexJustification = Type.Enum(VEX_JUSTIFICATIONS);
export type VexJustification = Static<typeof VexJustification>;

/** The hosts that a statement is about. */
export const VexScope = Type.Union([
  strict({ kind: Type.Literal('all') }),
  strict({ kind: Type.Literal('group'), group: GroupName }),
  strict({ kind: Type.Literal('host'), agent_id: Uuid }),
]);
export type VexScope = Static<typeof VexScope>;

const VexStatus = Type.Enum(['not_affected', 'accepted']);

/** An operator's statement: one vulnerability in exact versions of one package, on some hosts, until a time. */
export const VexStatementRequest = strict({
  vulnerability: VulnerabilityId,
  ecosystem: Ecosystem,
  package: PackageName,
  /** The `ID` of os-release; required for apt and dnf, null for npm and PyPI. */
  distribution: nullable(OsId),
  versions: Type.Array(PackageVersion, { minItems: 1, maxItems: VEX_VERSIONS_MAX, uniqueItems: true }),
  scope: VexScope,
  status: VexStatus,
  /** Required for `not_affected`, null for `accepted`. */
  justification: nullable(VexJustification),
  text: writtenText(REASON_MAX_CHARS),
  ends_at: Timestamp,
});
export type VexStatementRequest = Static<typeof VexStatementRequest>;

export const VexFormat = Type.Enum(['openvex', 'cyclonedx']);
export type VexFormat = Static<typeof VexFormat>;

/** The document that a statement was imported from. */
export const VexImported = strict({
  format: VexFormat,
  author: AuthorName,
  document_sha256: Sha256Hex,
});
export type VexImported = Static<typeof VexImported>;

export const VexStatement = strict({
  id: Uuid,
  ...VexStatementRequest.properties,
  state: Type.Enum(['in_force', 'expired', 'revoked']),
  /** SHA-256 of the signed payload; decisions and tokens name it. */
  sha256: Sha256Hex,
  imported: nullable(VexImported),
  created_by: Type.String(),
  created_at: Timestamp,
  ended_by: nullable(Type.String()),
  ended_at: nullable(Timestamp),
});
export type VexStatement = Static<typeof VexStatement>;

export const VexStatementDetail = strict({ ...VexStatement.properties, envelope: Envelope });
export type VexStatementDetail = Static<typeof VexStatementDetail>;

/** What the server signs when a statement is made. */
export const VexPayload = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  statement_id: Uuid,
  ...VexStatementRequest.properties,
  imported: nullable(VexImported),
  created_by: Type.String(),
  created_at: Timestamp,
});
export type VexPayload = Static<typeof VexPayload>;

/** A document of others has neither scope nor end: the importer gives them. Documents of Tidegate keep their own. */
export const VexImportRequest = strict({
  format: VexFormat,
  document: Type.Object({}),
  scope: VexScope,
  ends_at: Timestamp,
});

export const VexImportAnswer = strict({
  imported: Type.Array(Uuid),
  /** Statements that are in force already, word for word. */
  already: Count,
  /** Statements that say nothing that excuses, with the reason. */
  skipped: Type.Array(strict({ vulnerability: Type.String(), reason: Type.String() })),
});
export type VexImportAnswer = Static<typeof VexImportAnswer>;
