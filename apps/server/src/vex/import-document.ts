import {
  VEX_IMPORT_MAX,
  type VexFormat,
  type VexImportAnswer,
  VexStatementRequest,
} from '@tidegate/protocol/vex-api';
import { Value } from 'typebox/value';
import { findAgents } from '../agents/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { notValid, type Refusal } from '../platform/http/refusal.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { addStatements, type VexDeps } from './add-statements.ts';
import { readCycloneDx } from './documents/cyclonedx.ts';
import { readOpenVex } from './documents/openvex.ts';
import type { Defaults, ReadStatement } from './documents/read-document.ts';
import { type Fault, requestFault, schemaFault, statementKey } from './request-rules.ts';
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
    // What the document says twice is one statement.
    const said = new Map(statements.map(({ request }) => [statementKey(request), request]));
    const fresh = [...said].flatMap(([key, request]) => (known.has(key) ? [] : [request]));
    const rows = await addStatements(tx, deps, { requests: fresh, actor, imported });
    return { imported: rows.map(({ id }) => id), already: said.size - fresh.length, skipped: [...skipped] };
  });
}

/** Throws a Refusal that names the first bad statement and what is wrong. Looks up the hosts of all together. */
export async function demandSound(
  db: Db,
  statements: readonly ReadStatement[],
  nowMs: number,
): Promise<void> {
  for (const statement of statements) demandForm(statement, nowMs);
  const hostOf = ({ request: { scope } }: ReadStatement) => (scope.kind === 'host' ? scope.agent_id : null);
  const known = await findAgents(
    db,
    statements.flatMap((one) => hostOf(one) ?? []),
  );
  for (const statement of statements) {
    const host = hostOf(statement);
    if (host === null || known.has(host)) continue;
    throw refusal({ path: `${statement.at}/scope/agent_id`, message: 'names no host of this server' });
  }
}

function demandForm({ request, at }: ReadStatement, nowMs: number): void {
  if (!Value.Check(VexStatementRequest, request)) {
    const errors = Value.Errors(VexStatementRequest, request);
    throw refusal(schemaFault(errors, { at, otherwise: 'is not a statement' }));
  }
  const fault = requestFault(request, nowMs);
  if (fault) throw refusal({ path: `${at}${fault.path}`, message: fault.message });
}

function refusal(fault: Fault): Refusal {
  return notValid([fault]);
}
