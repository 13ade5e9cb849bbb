import {
  VEX_IMPORT_MAX,
  type VexFormat,
  type VexImportAnswer,
  VexStatementRequest,
} from '@tidegate/protocol/vex-api';
import { Value } from 'typebox/value';
import { findAgents } from '../agents/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { addStatements, type VexDeps } from './add-statements.ts';
import { readCycloneDx } from './documents/cyclonedx.ts';
import { readOpenVex } from './documents/openvex.ts';
import type { Defaults } from './documents/read-document.ts';
import { type Fault, requestFault, statementKey } from './request-rules.ts';
import { requestOf } from './statement-view.ts';
import { statementsInForce } from './store.ts';

const READERS = { openvex: readOpenVex, cyclonedx: readCycloneDx } as const;

/** Imports a whole document or nothing; statements that are in force already are counted, not repeated. */
export async function importDocument(
  deps: VexDeps,
  given: { format: VexFormat; document: unknown; defaults: Defaults; actor: string; limit: number },
): Promise<VexImportAnswer> {
  const { format, document, defaults, actor, limit } = given;
  const { platform } = deps;
  const read = READERS[format](document, defaults);
  if (read.kind === 'refused') throw refusal(read.fault);
  const { author, statements, skipped } = read;
  if (statements.length > VEX_IMPORT_MAX) {
    throw refusal({
      path: '/document',
      message: `must have at most ${VEX_IMPORT_MAX} statements about packages`,
    });
  }
  await demandSound(platform.database.read, statements, platform.now());
  const imported = { format, author, document_sha256: sha256Hex(JSON.stringify(document)) };
  return platform.database.transact(async (tx) => {
    const present = await statementsInForce(tx, { nowMs: platform.now(), limit });
    const known = new Set(present.map((row) => statementKey(requestOf(row))));
    const fresh = new Map(statements.map((one) => [statementKey(one), one]));
    for (const key of known) fresh.delete(key);
    const rows = await addStatements(tx, deps, { requests: [...fresh.values()], actor, imported });
    const already = statements.length - rows.length;
    return { imported: rows.map(({ id }) => id), already, skipped: [...skipped] };
  });
}

/** Throws a Refusal that says what is wrong with the first bad statement. Looks up the hosts of all together. */
export async function demandSound(
  db: Db,
  requests: readonly VexStatementRequest[],
  nowMs: number,
): Promise<void> {
  for (const request of requests) demandForm(request, nowMs);
  const hosts = requests.flatMap(({ scope }) => (scope.kind === 'host' ? scope.agent_id : []));
  const known = await findAgents(db, hosts);
  if (hosts.some((id) => !known.has(id))) {
    throw refusal({ path: '/scope/agent_id', message: 'names no host of this server' });
  }
}

function demandForm(request: VexStatementRequest, nowMs: number): void {
  if (!Value.Check(VexStatementRequest, request)) {
    const [first] = Value.Errors(VexStatementRequest, request);
    throw refusal({ path: first?.instancePath ?? '', message: first?.message ?? 'is not a statement' });
  }
  const fault = requestFault(request, nowMs);
  if (fault) throw refusal(fault);
}

function refusal(fault: Fault): Refusal {
  return new Refusal('invalid_request', { detail: 'The body is not valid.', errors: [fault] });
}
