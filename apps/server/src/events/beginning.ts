import { createHash } from 'node:crypto';
import { ANCHOR_TYPE, AnchorPayload } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { verifyEnvelope } from '@tidegate/signing/verify';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { faultOf, openText } from './collect-pins.ts';
import type { CheckpointKeys } from './open-checkpoint.ts';
import type { AnchorRow } from './store.ts';
import type { ChainFault, ChainStart } from './verify-chain.ts';

/** Newest anchors that are verified: the retention adds at most one in an hour. */
export const ANCHORS_MAX = 1_000;

/** What an anchor states of the events that it removed. */
export type Removal = Pick<
  AnchorPayload,
  'first_position' | 'position' | 'first_at' | 'last_at' | 'removed_by' | 'retention_days' | 'created_at'
>;

export type Beginning =
  | {
      ok: true;
      start: ChainStart;
      /** Of the checkpoint where the log begins: what was signed in an earlier one is of a branch that a restore left. */
      epoch: number;
      removed: Removal | null;
      warnings: string[];
    }
  | { ok: false; fault: ChainFault };

/**
 * Where the log begins: at its first event, or after the newest anchor. Each anchor has to be signed and to name the one
 * before it. Release 0.1 signed none: one of its anchors counts if an event records it, with a warning.
 */
export function beginningOf(
  trusted: CheckpointKeys,
  { anchors, recorded }: { anchors: readonly AnchorRow[]; recorded: readonly string[] },
): Beginning {
  const [newest] = anchors;
  if (newest === undefined) {
    return { ok: true, start: { position: 0, hash: null }, epoch: 0, removed: null, warnings: [] };
  }
  const opened = openText(newest.envelope, { trusted, place: 'where the log begins' });
  const fault = faultOf(opened, newest, 'anchor') ?? statementFault(trusted, anchors);
  if (fault !== null) return { ok: false, fault };
  const { position, hash, statement } = newest;
  const start = { position, hash };
  const epoch = (opened.ok && opened.pin.epoch) || 0;
  if (statement !== null) {
    const read = openAnchor(statement, trusted);
    return { ok: true, start, epoch, removed: read.ok ? read.anchor : null, warnings: [] };
  }
  if (!recorded.some((content) => records(content, position)))
    return unsigned(position, 'nothing states that the events before it were removed');
  const warning = `the events up to position ${position} were removed by a release that did not sign it: the log records it, no anchor proves it`;
  return { ok: true, start, epoch, removed: null, warnings: [warning] };
}

type OpenedAnchor = { ok: true; anchor: AnchorPayload } | { ok: false; detail: string };

function openAnchor(text: string, trusted: CheckpointKeys): OpenedAnchor {
  const envelope = parseStrictJson(text);
  if (!envelope.ok) return { ok: false, detail: 'the anchor of the log is not JSON' };
  const verified = verifyEnvelope(envelope.value, trusted.keys, ANCHOR_TYPE);
  if (!verified.ok)
    return { ok: false, detail: `the anchor of the log is signed by no known key (${verified.reason})` };
  const payload = parseStrictJson(verified.payload);
  if (!payload.ok || !Value.Check(AnchorPayload, payload.value))
    return { ok: false, detail: 'the anchor of the log does not have the form of one' };
  const revokedAtMs = trusted.revokedAtMs.get(verified.keyId);
  if (revokedAtMs !== undefined && Date.parse(payload.value.created_at) > revokedAtMs)
    return { ok: false, detail: 'the anchor of the log is signed by a key that had been revoked before' };
  return { ok: true, anchor: payload.value };
}

/** The newest first: each says what its row says, and names the one before it. */
function statementFault(trusted: CheckpointKeys, anchors: readonly AnchorRow[]): ChainFault | null {
  for (const [i, { position, hash, statement }] of anchors.entries()) {
    if (statement === null) continue;
    const opened = openAnchor(statement, trusted);
    if (!opened.ok) return unsigned(position, opened.detail).fault;
    const { anchor } = opened;
    if (anchor.position !== position || anchor.hash !== hash)
      return unsigned(position, 'the row of the anchor says something else than what was signed').fault;
    const isLast = i === anchors.length - 1;
    const before = anchors[i + 1];
    if (isLast && anchors.length === ANCHORS_MAX) continue;
    const isNext = anchor.first_position === (before?.position ?? 0) + 1;
    if (!isNext || anchor.previous_sha256 !== statementSha256(before ?? null))
      return unsigned(position, 'it does not name the anchor before it: an anchor was removed or put in')
        .fault;
  }
  return null;
}

/** Of the statement of an anchor, for the one after it; null for one of release 0.1. */
export function statementSha256(anchor: Pick<AnchorRow, 'statement'> | null): string | null {
  if (anchor === null || anchor.statement === null) return null;
  return createHash('sha256').update(anchor.statement).digest('hex');
}

const Pruned = Type.Object({ to_position: Type.Integer() });

function records(content: string, position: number): boolean {
  const parsed = parseStrictJson(content);
  return parsed.ok && Value.Check(Pruned, parsed.value) && parsed.value.to_position === position;
}

function unsigned(position: number, detail: string): { ok: false; fault: ChainFault } {
  return { ok: false, fault: { kind: 'bad_checkpoint', position, id: null, detail } };
}
