import type { ApprovalRecord, OverrideRecord, SecondSignature } from '@tidegate/protocol/approval-record-api';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import type { RecordedDecision } from '@tidegate/protocol/decisions-api';
import { APPROVAL_TYPE, ApprovalPayload, Envelope } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { loadTrustedKey, signersOf, verifyEnvelope } from '@tidegate/signing/verify';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ApprovalRow } from '../approval-tokens/store.ts';
import { type EventRow, eventsOfHost, findEvent } from '../events/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { versionsOf } from '../policies/store.ts';
import { ageKey } from '../release-times/subjects.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { decisionOfToken } from './decision-store.ts';
import { parseRecord } from './read-decision.ts';
import { signatureDigest } from './signature-digest.ts';
import { approvalOfNewestCommand, liveAgeExceptions } from './store.ts';

/** Events of one type of a host that are looked through: while an approval lives. */
const EVENTS_MAX = 1_000;
/** Age exceptions that a record names. */
const EXCEPTIONS_MAX = 20;

const payloads = Compile(ApprovalPayload);
const envelopes = Compile(Envelope);
const overrideEvent = Compile(
  Type.Object({
    update_id: Type.String(),
    reason: Type.String(),
    cause: Type.Object({ blocked_by: Type.String() }),
  }),
);
const Countersigned = Type.Object({
  token_id: Type.String(),
  keyid: Type.String(),
  /** Older servers wrote none. */
  sig_sha256: Type.Optional(Type.String()),
});
const countersigned = Compile(Countersigned);
const ApprovedEvent = Type.Object({
  token_id: Type.String(),
  bulk_id: Type.Optional(Type.String()),
  decision: Type.Object({ sha256: Type.String() }),
});
const approvedEvent = Compile(ApprovedEvent);
const AskedEvent = Type.Object({
  updates: Type.Array(Type.String()),
  update_count: Type.Integer({ minimum: 0 }),
  /** Older servers wrote none. */
  filter: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
const askedEvent = Compile(AskedEvent);

export type FleetKeyRing = Pick<KeyRing, 'fleetId' | 'entries'>;

/** The approval by which an update was last to be installed; null: no command installs it. */
export async function approvalRecord(
  db: Db,
  keyRing: FleetKeyRing,
  { updateId, isFleetWide }: { updateId: string; isFleetWide: boolean },
): Promise<ApprovalRecord | null> {
  const row = await approvalOfNewestCommand(db, updateId);
  if (!row) return null;
  const opened = openApproval(row, { keyRing, updateId });
  const found = await decisionOfToken(db, { updateId, tokenId: row.token_id });
  const record = found && parseRecord(found);
  const approved = await approvedEventOf(db, row);
  return {
    ...{ token_id: row.token_id, sha256: row.payload_sha256, key_id: row.key_id },
    ...{ approved_by: row.approved_by, approved_at: rfc3339(row.issued_at) },
    ...{ event_id: approved?.event.id ?? null, signed: opened.signed },
    second_signatures: await secondSignatures(db, row, opened.others),
    via: record?.via ?? null,
    bulk: await bulkOf(db, { row, record, approved: approved?.content ?? null, updateId, isFleetWide }),
    updates: opened.payload?.updates.length ?? record?.updates.length ?? 1,
    override: await overrideOf(db, { row, payload: opened.payload, record, updateId }),
    policy: await policyOf(db, row, isFleetWide),
    age_exceptions: await ageExceptionsOf(db, record, isFleetWide),
    origins: originsOf(record),
  };
}

interface OpenedApproval {
  readonly signed: ApprovalRecord['signed'];
  /** What a key of the server signed; null where none did. */
  readonly payload: ApprovalPayload | null;
  /** The signatures that are not the server's. */
  readonly others: Envelope['signatures'];
}

/** Verifies a stored approval by the keys of the fleet, also by revoked ones, and reads the bytes that were signed. */
function openApproval(
  row: ApprovalRow,
  { keyRing, updateId }: { keyRing: FleetKeyRing; updateId: string },
): OpenedApproval {
  const keys = keyRing
    .entries()
    .map(({ key_id: keyId, public_key_hex: publicKeyHex }) => loadTrustedKey({ keyId, publicKeyHex }));
  const stored = parseStrictJson(row.envelope);
  if (!stored.ok || !envelopes.Check(stored.value)) return { signed: 'bad', payload: null, others: [] };
  const envelope = stored.value;
  const isServers = (signature: Envelope['signatures'][number]) =>
    signersOf({ ...envelope, signatures: [signature] }, keys, APPROVAL_TYPE).length > 0;
  const others = envelope.signatures.filter((one) => !isServers(one));
  const verified = verifyEnvelope(envelope, keys, APPROVAL_TYPE);
  if (!verified.ok) {
    const isKnown = keys.some(({ keyId }) => keyId === row.key_id);
    return { signed: isKnown ? 'bad' : 'unknown', payload: null, others };
  }
  const read = parseStrictJson(verified.payload);
  const payload = read.ok && payloads.Check(read.value) ? read.value : null;
  const isThis =
    payload?.token_id === row.token_id &&
    payload.fleet_id === keyRing.fleetId &&
    !isRevokedBefore(keyRing, { keyId: verified.keyId, at: payload.issued_at }) &&
    payload.updates.some(({ update_id: id }) => id === updateId) &&
    sha256Hex(verified.payload) === row.payload_sha256;
  return isThis ? { signed: 'good', payload, others } : { signed: 'bad', payload: null, others };
}

function isRevokedBefore(keyRing: FleetKeyRing, { keyId, at }: { keyId: string; at: string }): boolean {
  const revokedAt = keyRing.entries().find((key) => key.key_id === keyId)?.revoked_at ?? null;
  return revokedAt !== null && Date.parse(revokedAt) < Date.parse(at);
}

/** The signatures on an approval beside the server's, each with its event; then those that only an event names. */
async function secondSignatures(
  db: Db,
  row: ApprovalRow,
  signatures: Envelope['signatures'],
): Promise<SecondSignature[]> {
  const events = (await eventsWhileAlive(db, row, 'approval_countersigned')).flatMap((event) => {
    const content: unknown = JSON.parse(event.content);
    return countersigned.Check(content) && content.token_id === row.token_id ? [{ event, content }] : [];
  });
  const take = (fits: (content: Static<typeof Countersigned>) => boolean) => {
    const at = events.findIndex(({ content }) => fits(content));
    return at < 0 ? null : (events.splice(at, 1)[0] ?? null);
  };
  // Each event goes with the signature that it is about; what is left goes by the name of the key.
  const exact = signatures.map((one) => {
    const digest = signatureDigest(one);
    return take(({ keyid, sig_sha256: sha256 }) => keyid === one.keyid && sha256 === digest);
  });
  const given = signatures.map(({ keyid }, i): SecondSignature => {
    const own = exact[i] ?? take((content) => content.keyid === keyid);
    const isGiven = exact[i] ? true : own?.content.sig_sha256 === undefined ? null : false;
    return { ...signatureItem(keyid, own?.event ?? null), on_approval: true, is_given: isGiven };
  });
  const lost = { on_approval: false, is_given: null };
  return [
    ...given,
    ...events.map(({ event, content }) => ({ ...signatureItem(content.keyid, event), ...lost })),
  ];
}

function signatureItem(keyid: string, event: EventRow | null) {
  const given_at = event === null ? null : rfc3339(event.created_at);
  return { keyid, given_by: event?.actor ?? null, event_id: event?.id ?? null, given_at };
}

function eventsWhileAlive(db: Db, row: ApprovalRow, type: string): Promise<EventRow[]> {
  const { agent_id: agentId, issued_at: sinceMs, expires_at: untilMs } = row;
  return eventsOfHost(db, { agentId, type, sinceMs, untilMs, limit: EVENTS_MAX });
}

type ApprovedContent = Static<typeof ApprovedEvent>;

/** The event of an approval. */
async function approvedEventOf(
  db: Db,
  row: ApprovalRow,
): Promise<{ event: EventRow; content: ApprovedContent } | null> {
  for (const event of await eventsWhileAlive(db, row, 'update_approved')) {
    const content: unknown = JSON.parse(event.content);
    if (approvedEvent.Check(content) && content.token_id === row.token_id) return { event, content };
  }
  return null;
}

/** The bulk request that an approval came with, by the record of its decision; its row where that is missing or changed. */
async function bulkOf(
  db: Db,
  {
    row,
    record,
    approved,
    updateId,
    isFleetWide,
  }: {
    row: ApprovalRow;
    record: RecordedDecision | null;
    approved: ApprovedContent | null;
    updateId: string;
    isFleetWide: boolean;
  },
): Promise<ApprovalRecord['bulk']> {
  const id = (record ? record.bulk_id : row.bulk_id) ?? null;
  if (id === null) return null;
  const event = await findEvent(db, id);
  const content: unknown = event && JSON.parse(event.content);
  const asked = event?.type === 'bulk_approval_asked' && askedEvent.Check(content) ? content : null;
  const shown = isFleetWide && event && asked;
  return {
    id,
    event_id: shown ? id : null,
    asked_by: shown ? event.actor : null,
    asked_at: shown ? rfc3339(event.created_at) : null,
    updates: shown ? asked.update_count : null,
    filter: shown ? (asked.filter ?? null) : null,
    is_logged:
      record && event && asked && isLogged({ row, record, approved, act: { event, asked }, updateId }),
  };
}

/** Null: the event of the approval is gone, or the act named too many updates to say. */
function isLogged({
  row,
  record,
  approved,
  act: { event, asked },
  updateId,
}: {
  row: ApprovalRow;
  record: RecordedDecision;
  approved: ApprovedContent | null;
  act: { event: EventRow; asked: Static<typeof AskedEvent> };
  updateId: string;
}): boolean | null {
  if (!approved) return null;
  const isSame =
    approved.bulk_id === event.id &&
    approved.decision.sha256 === sha256Hex(canonicalJson(record)) &&
    row.bulk_id === event.id &&
    row.approved_by === event.actor;
  if (!isSame) return false;
  if (asked.updates.includes(updateId)) return true;
  return asked.updates.length < asked.update_count ? null : false;
}

/** The reason is in the event that the signed approval names; the approval and the decision have its hash. */
async function overrideOf(
  db: Db,
  {
    row,
    payload,
    record,
    updateId,
  }: {
    row: ApprovalRow;
    payload: ApprovalPayload | null;
    record: RecordedDecision | null;
    updateId: string;
  },
): Promise<OverrideRecord | null> {
  const attested = payload?.override ?? null;
  if (attested === null && (payload !== null || row.override_by === null)) return null;
  const eventId = attested?.event_id ?? row.override_event_id;
  const event = eventId === null ? null : await findEvent(db, eventId);
  const content: unknown = event && JSON.parse(event.content);
  const told = overrideEvent.Check(content) && content.update_id === updateId ? content : null;
  const reason = told?.reason ?? row.override_reason;
  const hashes = [attested?.reason_sha256, record?.request.override_reason?.sha256];
  const { waived } = record?.verdict.kind === 'mint' ? record.verdict : { waived: null };
  return {
    by: attested?.by ?? row.override_by ?? '',
    reason,
    reason_is_signed:
      reason === null || attested === null || record === null
        ? null
        : hashes.every((hash) => hash === sha256Hex(reason)),
    event_id: event?.id ?? null,
    blocked_by: waived?.by ?? told?.cause.blocked_by ?? null,
  };
}

async function policyOf(
  db: Db,
  { policy_id: id, policy_sha256: sha256 }: ApprovalRow,
  isFleetWide: boolean,
): Promise<ApprovalRecord['policy']> {
  if (id === null) return null;
  const versions = isFleetWide ? await versionsOf(db, id) : [];
  return { id, name: versions.find((one) => one.sha256 === sha256)?.name ?? null };
}

async function ageExceptionsOf(
  db: Db,
  record: RecordedDecision | null,
  isFleetWide: boolean,
): Promise<ApprovalRecord['age_exceptions']> {
  const { total, items } = record?.facts.judged?.age.excepted ?? { total: 0, items: [] };
  if (record === null || total === 0) return { total, items: [] };
  const some = items.slice(0, EXCEPTIONS_MAX);
  const { ecosystem } = record.facts;
  const decidedAtMs = Date.parse(record.decided_at);
  const versions = isFleetWide ? some.map(({ version }) => version) : [];
  const then = await liveAgeExceptions(db, { ecosystem, versions, nowMs: decidedAtMs });
  return {
    total,
    items: some.map(({ package: name, version }) => {
      const key = ageKey({ ecosystem, name, version });
      const own = then.find((one) => one.created_at <= decidedAtMs && ageKey({ ...one, ecosystem }) === key);
      return { package: name, version, created_by: own?.created_by ?? null, reason: own?.reason ?? null };
    }),
  };
}

/** The registrations without which the gate had stopped, as the decision has them. */
function originsOf(record: RecordedDecision | null): ApprovalRecord['origins'] {
  if (record?.verdict.kind !== 'mint' || !record.verdict.warnings.includes('registered_origin_used'))
    return [];
  const used = (record.facts.judged?.origins?.items ?? []).flatMap(({ origin, registration }) =>
    registration ? [{ id: registration.id, origin, reason: registration.reason }] : [],
  );
  return [...new Map(used.map((one) => [one.id, one])).values()];
}
