import { type Static, Type } from 'typebox';
import { RecordedDecision } from './decisions-api.ts';
import {
  Count,
  nullable,
  PackageName,
  PackageVersion,
  Sha256Hex,
  strict,
  Timestamp,
  Uuid,
} from './scalars.ts';

/** A signature beside the server's, for hosts whose own policy requires one. */
export const SecondSignature = strict({
  keyid: Type.String({ description: 'as the signer names the key, which only hosts know' }),
  given_by: nullable(Type.String(), { description: 'null: its event is not on record' }),
  given_at: nullable(Timestamp),
  event_id: nullable(Uuid),
  on_approval: Type.Boolean({
    description: 'false: an event says that it was given, and the approval does not have it',
  }),
  is_given: nullable(Type.Boolean(), {
    description:
      'whether the SHA-256 of the signature is the one in its event; null: that cannot be told, as events of older servers have none',
  }),
});
export type SecondSignature = Static<typeof SecondSignature>;

/** Why an approval passed what the gate stopped. */
export const OverrideRecord = strict({
  by: Type.String(),
  reason: nullable(Type.String(), { description: 'null: it is not on record' }),
  reason_is_signed: nullable(Type.Boolean(), {
    description:
      'whether the SHA-256 of the reason is the one in the signed approval and in the record of the decision; null: that cannot be told',
  }),
  event_id: nullable(Uuid, { description: 'null: its event is not on record' }),
  blocked_by: nullable(Type.String(), { description: 'what it passes; null: not on record' }),
});
export type OverrideRecord = Static<typeof OverrideRecord>;

/** The one act by which an operator asked for many approvals. */
export const BulkAct = strict({
  id: Uuid,
  event_id: nullable(Uuid, {
    description: 'null: its event is not on record, or the operator is bound to groups of hosts',
  }),
  asked_by: nullable(Type.String(), { description: 'null like event_id' }),
  asked_at: nullable(Timestamp, { description: 'null like event_id' }),
  updates: nullable(Count, { description: 'how many were asked for together; null like event_id' }),
  filter: nullable(Type.String(), {
    description:
      'the filter that chose them, as filter text; empty: all updates; null: chosen one by one, by an older server, or null like event_id',
  }),
  is_logged: nullable(Type.Boolean(), {
    description:
      'whether the decision, the event of the approval and the event of the act say the same; null: that cannot be told',
  }),
});
export type BulkAct = Static<typeof BulkAct>;

/** How an update came to be approved: by whom and through what, why against the gate, and signed by whom. */
export const ApprovalRecord = strict({
  token_id: Uuid,
  sha256: Sha256Hex,
  approved_by: Type.String(),
  approved_at: Timestamp,
  event_id: nullable(Uuid, { description: 'the event of the approval; null: it is not on record' }),
  signed: Type.Enum(['good', 'bad', 'unknown'], {
    description:
      "good: a key of the server signed exactly this; bad: none did, or it is another's; unknown: its key is not on record",
  }),
  key_id: Type.String(),
  second_signatures: Type.Array(SecondSignature),
  via: nullable(RecordedDecision.properties.via, {
    description: 'null: the record of its decision is missing or was changed',
  }),
  bulk: nullable(BulkAct, { description: 'null: it was not approved with others, or by an older server' }),
  updates: Type.Integer({ minimum: 1, description: 'updates of its one transaction' }),
  override: nullable(OverrideRecord),
  policy: nullable(
    strict({
      id: Uuid,
      name: nullable(Type.String(), {
        description: 'null: not on record, or the operator is bound to groups of hosts',
      }),
    }),
  ),
  age_exceptions: strict({
    total: Count,
    items: Type.Array(
      strict({
        package: PackageName,
        version: PackageVersion,
        created_by: nullable(Type.String(), {
          description: 'null: it has ended, or the operator is bound to groups of hosts',
        }),
        reason: nullable(Type.String()),
      }),
    ),
  }),
  origins: Type.Array(
    strict({
      id: Uuid,
      origin: Type.String(),
      reason: Type.String({ description: 'why it was registered' }),
    }),
  ),
});
export type ApprovalRecord = Static<typeof ApprovalRecord>;

/** Null: no command installs the update. */
export const ApprovalOfUpdate = strict({ approval: nullable(ApprovalRecord) });
export type ApprovalOfUpdate = Static<typeof ApprovalOfUpdate>;
