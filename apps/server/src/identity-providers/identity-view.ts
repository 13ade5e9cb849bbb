import type { Identities, Identity } from '@tidegate/protocol/identity-providers-api';
import { type IdentityRow, listIdentities } from '../operators/identities/store.ts';
import { hasPassword } from '../operators/passwords/no-password.ts';
import { findOperator } from '../operators/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { noSuch } from '../platform/http/refusal.ts';
import { listProviders } from './store.ts';

export async function identitiesOf(db: Db, operatorId: string): Promise<Identities> {
  const operator = await findOperator(db, operatorId);
  if (!operator) throw noSuch('operator');
  const names = new Map((await listProviders(db)).map(({ id, name }) => [id, name]));
  const rows = await listIdentities(db, operatorId);
  return {
    items: rows.map((row) => identityView(row, names.get(row.provider_id) ?? row.provider_id)),
    has_password: hasPassword(operator),
  };
}

export function identityView(row: IdentityRow, providerName: string): Identity {
  return {
    id: row.id,
    provider_id: row.provider_id,
    provider_name: providerName,
    issuer: row.issuer,
    subject: row.subject,
    created_by: row.created_by,
    created_at: rfc3339(row.created_at),
    last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
  };
}
