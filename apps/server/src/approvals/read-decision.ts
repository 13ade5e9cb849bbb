import { type DecisionDetail, type DecisionItem, RecordedDecision } from '@tidegate/protocol/decisions-api';
import { Compile } from 'typebox/compile';
import { rfc3339 } from '../platform/clock.ts';
import { sha256Hex } from '../platform/sha256.ts';
import type { DecisionRow } from './decision-store.ts';
import { replayDecision } from './replay-decision.ts';

const records = Compile(RecordedDecision);

/** A row of the decisions table that was changed outside of the server. */
export class TamperedDecision extends Error {}

/** The recorded decision. @throws TamperedDecision when the row is not as the server wrote it. */
export function readRecord({ id, document, document_sha256 }: DecisionRow): RecordedDecision {
  const parsed: unknown = JSON.parse(document);
  const sha256 = sha256Hex(document);
  if (sha256 === document_sha256 && records.Check(parsed) && parsed.id === id) return parsed;
  throw new TamperedDecision(`the decision ${id} was changed in the database`);
}

export function decisionItem(row: DecisionRow): DecisionItem {
  const { id, outcome, actor, token_id, document_sha256: sha256, repeats } = row;
  return {
    ...{ id, outcome, actor, token_id, sha256, repeats },
    decided_at: rfc3339(row.decided_at),
    repeated_at: row.repeated_at === null ? null : rfc3339(row.repeated_at),
  };
}

export function decisionDetail(row: DecisionRow): DecisionDetail {
  const record = readRecord(row);
  return { ...decisionItem(row), record, replays: replayDecision(record).isSame };
}
