import type { VexImported, VexPayload, VexStatementRequest } from '@tidegate/protocol/vex-api';
import { VEX_STATEMENT_TYPE, VEX_STATEMENTS_MAX } from '@tidegate/protocol/vex-api';
import { canonicalName } from '@tidegate/versions/names';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { sha256Hex } from '../platform/sha256.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { type AnyStatementRow, insertStatements, statementsInForce } from './store.ts';

export interface VexDeps {
  readonly platform: Platform;
  readonly keyRing: Pick<KeyRing, 'fleetId' | 'signer'>;
}

/** Signs and stores statements with their events. Throws a Refusal if more would be in force than allowed. */
export async function addStatements(
  tx: Tx,
  { platform, keyRing }: VexDeps,
  given: { requests: readonly VexStatementRequest[]; actor: string; imported: VexImported | null },
): Promise<AnyStatementRow[]> {
  const { requests, actor, imported } = given;
  const nowMs = platform.now();
  const inForce = await statementsInForce(tx, { nowMs, limit: VEX_STATEMENTS_MAX });
  if (inForce.length + requests.length > VEX_STATEMENTS_MAX) {
    const detail = `At most ${VEX_STATEMENTS_MAX} statements may be in force; ${inForce.length} are. Revoke some first.`;
    throw new Refusal('conflict', { detail });
  }
  const rows = requests.map((request) => {
    const id = platform.newId();
    const payload: VexPayload = {
      ...{ v: 1, fleet_id: keyRing.fleetId, statement_id: id, ...request },
      ...{ imported, created_by: actor, created_at: rfc3339(nowMs) },
    };
    const bytes = Buffer.from(JSON.stringify(payload));
    return {
      id,
      sha256: sha256Hex(bytes),
      envelope: JSON.stringify(keyRing.signer().sign(VEX_STATEMENT_TYPE, bytes)),
      vulnerability: request.vulnerability,
      ecosystem: request.ecosystem,
      name: canonicalName(request.ecosystem, request.package),
      distribution: request.distribution,
      versions: JSON.stringify(request.versions),
      scope: JSON.stringify(request.scope),
      status: request.status,
      justification: request.justification,
      text: request.text,
      imported: imported && JSON.stringify(imported),
      created_by: actor,
      created_at: nowMs,
      ends_at: Date.parse(request.ends_at),
      ...{ ended_at: null, end_reason: null, ended_by: null },
    };
  });
  await insertStatements(tx, rows);
  for (const row of rows) {
    await appendEvent(tx, platform, {
      ...{ kind: 'system', type: 'vex_statement_added', severity: 'warning', component: 'security', actor },
      content: {
        ...aboutStatement(row),
        ...{ versions: JSON.parse(row.versions), scope: JSON.parse(row.scope), text: row.text, actor },
        ...{ ends_at: rfc3339(row.ends_at), ...(imported && { imported }) },
      },
    });
  }
  return rows;
}

/** What each event says about a statement. */
export function aboutStatement(row: AnyStatementRow) {
  const { id, sha256, vulnerability, ecosystem, name, status } = row;
  return { statement_id: id, sha256, vulnerability, package: { ecosystem, name }, status };
}
