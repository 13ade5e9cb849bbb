import { Envelope } from '@tidegate/protocol/documents';
import {
  VexImported,
  VexStatement,
  VexStatementDetail,
  VexStatementRequest,
} from '@tidegate/protocol/vex-api';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { AnyStatementRow } from './store.ts';

/** The statement as its author made it. */
export function requestOf(row: AnyStatementRow): VexStatementRequest {
  const { vulnerability, ecosystem, name, distribution, versions, scope } = row;
  const { status, justification, text, ends_at } = row;
  return Value.Parse(VexStatementRequest, {
    ...{ vulnerability, ecosystem, package: name, distribution, status, justification, text },
    ...{ versions: JSON.parse(versions), scope: JSON.parse(scope), ends_at: rfc3339(ends_at) },
  });
}

export function statementView(row: AnyStatementRow, nowMs: number): VexStatement {
  const { id, sha256, created_by, created_at, ended_by, ended_at, end_reason, ends_at } = row;
  const isOver = end_reason === 'expired' || ends_at <= nowMs;
  return Value.Parse(VexStatement, {
    ...{ id, ...requestOf(row), sha256, created_by, created_at: rfc3339(created_at), ended_by },
    state: end_reason === 'revoked' ? 'revoked' : isOver ? 'expired' : 'in_force',
    imported: row.imported === null ? null : Value.Parse(VexImported, JSON.parse(row.imported)),
    ended_at: ended_at === null ? null : rfc3339(ended_at),
  });
}

export function statementDetail(row: AnyStatementRow, nowMs: number): VexStatementDetail {
  const envelope = Value.Parse(Envelope, JSON.parse(row.envelope));
  return Value.Parse(VexStatementDetail, { ...statementView(row, nowMs), envelope });
}
