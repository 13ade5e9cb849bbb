import {
  APPROVAL_TYPE,
  ApprovalPayload,
  CHECKPOINT_TYPE,
  CheckpointPayload,
} from '@tidegate/protocol/documents';
import type { EvidenceManifest } from '@tidegate/protocol/evidence-api';
import { ORIGIN_TYPE } from '@tidegate/protocol/origins-api';
import { POLICY_TYPE } from '@tidegate/protocol/policies-api';
import { nullable, Sha256Hex, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { VEX_STATEMENT_TYPE } from '@tidegate/protocol/vex-api';
import { verifyEnvelope } from '@tidegate/signing/verify';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { hashOfEvent } from '../events/append-event.ts';
import { ExportEvent } from '../events/export-lines.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { type BulkCounts, createBulkChecks } from './bulk-checks.ts';
import { FaultyBundle, faultAt, type Place } from './verify-fault.ts';
import type { FleetKeys } from './vouch-keys.ts';
import { faultOfWithheld, WithheldEvent } from './withheld-rules.ts';

export interface LineChecks {
  take(folder: string, line: object, at: Place): void;
  /** At the end of all lines. */
  end(): EventCounts;
}

export interface EventCounts {
  readonly shown: number;
  readonly withheld: number;
  readonly signedUpTo: number | null;
  readonly bulk: BulkCounts;
}

const Any = Type.Unknown();
const approvals = Compile(
  Type.Object({
    token_id: Uuid,
    agent_id: Uuid,
    sha256: Sha256Hex,
    token: Any,
    update_ids: Type.Array(Uuid),
    results: Type.Array(Type.Object({ approval_sha256: nullable(Sha256Hex) })),
  }),
);
const payloads = Compile(ApprovalPayload);
const decisions = Compile(Type.Object({ id: Uuid, sha256: Sha256Hex, record: Type.String() }));
const signed = Compile(Type.Object({ sha256: Sha256Hex, created_at: Timestamp, envelope: Any }));
const checkpointLine = Compile(strict({ checkpoint: Any }));
const checkpoints = Compile(CheckpointPayload);
const eventLine = Compile(ExportEvent);
const withheldLine = Compile(strict({ withheld: WithheldEvent }));

const SIGNED_FOLDERS: ReadonlyMap<string, string> = new Map([
  ['policies', POLICY_TYPE],
  ['statements', VEX_STATEMENT_TYPE],
  ['origins', ORIGIN_TYPE],
]);

/** What lines prove beside the hash of their file: signatures, hashes of records, and the chain of events. */
export function createLineChecks({
  manifest: { fleet_id: fleetId, chain },
  keys,
}: {
  manifest: Pick<EvidenceManifest, 'fleet_id' | 'chain'>;
  keys: FleetKeys;
}): LineChecks {
  let last = chain?.start ?? { position: 0, hash: null };
  let signedUpTo: number | null = null;
  let shown = 0;
  let withheld = 0;
  const bulk = createBulkChecks();

  /** The bytes that a key of the fleet signed before it was revoked. */
  function open(
    envelope: unknown,
    { type, timeOf, at, field }: Opening,
  ): { payload: unknown; bytes: Uint8Array } {
    const verified = verifyEnvelope(envelope, keys.keys, type);
    if (!verified.ok) throw faultAt(at, `is signed by no key of the fleet (${verified.reason})`, field);
    const parsed = parseStrictJson(verified.payload);
    if (!parsed.ok) throw faultAt(at, `the signed text ${parsed.reason}`, field);
    const revoked = keys.revokedAtMs.get(verified.keyId);
    const signedMs = Date.parse(timeOf(parsed.value));
    if (revoked !== undefined && !(signedMs <= revoked))
      throw faultAt(at, 'its key had been revoked before it signed', field);
    if (textAt(parsed.value, 'fleet_id') !== fleetId) throw faultAt(at, 'is of another fleet', field);
    return { payload: parsed.value, bytes: verified.payload };
  }

  function takeApproval(line: object, at: Place): void {
    if (!approvals.Check(line)) throw faultAt(at, 'is no approval', null);
    const opening = { type: APPROVAL_TYPE, timeOf: timeAt('issued_at'), at, field: 'token' };
    const { payload, bytes } = open(line.token, opening);
    if (!payloads.Check(payload)) throw faultAt(at, 'the signed text is no approval', 'token');
    if (sha256Hex(bytes) !== line.sha256)
      throw faultAt(at, 'is not the SHA-256 of the signed text', 'sha256');
    if (payload.token_id !== line.token_id) throw faultAt(at, 'the token has another id', 'token_id');
    if (payload.agent_id !== line.agent_id) throw faultAt(at, 'the token is for another host', 'agent_id');
    const named = payload.updates.map(({ update_id }) => update_id).join();
    if (named !== line.update_ids.join()) throw faultAt(at, 'the token names other updates', 'update_ids');
    for (const [i, { approval_sha256: sha256 }] of line.results.entries())
      if (sha256 !== line.sha256)
        throw faultAt(at, 'is the result of another approval', `results[${i}].approval_sha256`);
    bulk.takeApproval(line, at);
  }

  function takeSigned(line: object, { type, at }: { type: string; at: Place }): void {
    if (!signed.Check(line)) throw faultAt(at, 'lacks its envelope or its hash', null);
    const opening = { type, timeOf: timeAt('created_at'), at, field: 'envelope' };
    const { bytes } = open(line.envelope, opening);
    if (sha256Hex(bytes) !== line.sha256)
      throw faultAt(at, 'is not the SHA-256 of the signed text', 'sha256');
  }

  function takeCheckpoint(envelope: unknown, at: Place): void {
    const field = 'checkpoint';
    const opening = { type: CHECKPOINT_TYPE, timeOf: timeAt('created_at'), at, field };
    const { payload } = open(envelope, opening);
    if (!checkpoints.Check(payload)) throw faultAt(at, 'the signed text is no checkpoint', field);
    if (payload.position !== last.position)
      throw faultAt(at, `signs position ${payload.position} behind the event at ${last.position}`, field);
    if (payload.hash !== last.hash) throw faultAt(at, 'signs another event than the one before it', field);
    signedUpTo = payload.position;
  }

  function follow(
    next: { position: number; previous_hash: string | null; hash: string },
    at: Place,
    of: string,
  ): void {
    // The first checkpoint of the part is what its beginning rests on.
    if (chain !== null && chain.start.position > 0 && signedUpTo === null)
      throw faultAt(at, 'no checkpoint signs the event before it', `${of}.previous_hash`);
    if (next.position !== last.position + 1)
      throw faultAt(at, `has position ${next.position} after ${last.position}`, `${of}.position`);
    if (next.previous_hash !== last.hash)
      throw faultAt(at, 'does not name the hash of the event before it', `${of}.previous_hash`);
    last = { position: next.position, hash: next.hash };
  }

  function takeEvent(line: object, at: Place): void {
    if (chain === null) {
      shown++;
      return;
    }
    if (checkpointLine.Check(line)) takeCheckpoint(line.checkpoint, at);
    else if (withheldLine.Check(line)) {
      const member = faultOfWithheld(line.withheld);
      if (member !== null) throw faultAt(at, 'does not fit the hash of the event', `withheld.${member}`);
      follow(line.withheld, at, 'withheld');
      withheld++;
    } else if (eventLine.Check(line)) {
      const { hash, ...content } = line.event;
      if (hashOfEvent(content) !== hash) throw faultAt(at, 'the event does not match its hash', 'event.hash');
      follow(line.event, at, 'event');
      shown++;
    } else throw faultAt(at, 'is neither an event nor a checkpoint', null);
  }

  return {
    take(folder, line, at) {
      const type = SIGNED_FOLDERS.get(folder);
      if (type !== undefined) takeSigned(line, { type, at });
      else if (folder === 'approvals') takeApproval(line, at);
      else if (folder === 'events') {
        takeEvent(line, at);
        bulk.takeEvent(line, at);
      } else if (folder === 'decisions') {
        if (!decisions.Check(line)) throw faultAt(at, 'is no decision', null);
        if (sha256Hex(line.record) !== line.sha256)
          throw faultAt(at, 'is not the SHA-256 of the record', 'sha256');
        bulk.takeDecision(line.record, at);
      }
    },
    end() {
      if (chain !== null && (last.position !== chain.end.position || last.hash !== chain.end.hash))
        throw new FaultyBundle('manifest.json', `the events end at position ${last.position}`, {
          field: 'chain.end',
        });
      return { shown, withheld, signedUpTo, bulk: bulk.end() };
    },
  };
}

interface Opening {
  readonly type: string;
  readonly timeOf: (payload: unknown) => string;
  readonly at: Place;
  readonly field: string;
}

function timeAt(name: string): (payload: unknown) => string {
  return (payload) => textAt(payload, name) ?? '';
}

function textAt(value: unknown, name: string): string | null {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
  const member: unknown = Reflect.get(value, name);
  return typeof member === 'string' ? member : null;
}
