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
export function readRecord(row: DecisionRow): RecordedDecision {
  const record = parseRecord(row);
  if (record) return record;
  throw new TamperedDecision(`the decision ${row.id} was changed in the database`);
}

/** Null when the row is not as the server wrote it. */
export function parseRecord({ id, document, document_sha256 }: DecisionRow): RecordedDecision | null {
  if (sha256Hex(document) !== document_sha256) return null;
  const parsed: unknown = JSON.parse(document);
  return records.Check(parsed) && parsed.id === id ? parsed : null;
}

export function decisionItem(row: DecisionRow): DecisionItem {
  const { id, outcome, actor, token_id, document_sha256: sha256, repeats } = row;
  return {
    ...{ id, outcome, actor, token_id, sha256, repeats },
    ...restsOn(parseRecord(row)),
    decided_at: rfc3339(row.decided_at),
    repeated_at: row.repeated_at === null ? null : rfc3339(row.repeated_at),
  };
}

/** A record that was changed proves no check. */
function restsOn(record: RecordedDecision | null): Pick<DecisionItem, 'unchecked' | 'statements'> {
  if (!record) return { unchecked: 'undecidable', statements: [] };
  const { verdict, facts } = record;
  const used = new Set('statements' in verdict ? verdict.statements : []);
  const stated = facts.judged?.statements?.items ?? [];
  return {
    unchecked: facts.judged?.closure.unchecked ?? null,
    statements: stated
      .filter(({ id }) => used.has(id))
      .map(({ id, status, vulnerability, package: name }) => ({ id, status, vulnerability, package: name })),
  };
}

export function decisionDetail(row: DecisionRow): DecisionDetail {
  const record = readRecord(row);
  return { ...decisionItem(row), record, replays: replayDecision(record).isSame };
}
