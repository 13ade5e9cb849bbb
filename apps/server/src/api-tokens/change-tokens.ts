import { API_TOKEN_MAX_MS, type NewApiToken } from '@tidegate/protocol/api-tokens-api';
import { appendEvent } from '../events/append-event.ts';
import { readGroups, writeGroups } from '../operators/group-list.ts';
import { type NoticeBy, notify } from '../operators/notices/notices.ts';
import { demandLiveSession } from '../operators/record-factor.ts';
import { findOperator } from '../operators/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import { type FieldFault, notValid, Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { readScopes, verdictOf } from './read-token.ts';
import { hashApiSecret, makeApiSecret } from './secrets.ts';
import {
  type ApiTokenRow,
  countApiTokens,
  findApiToken,
  insertApiToken,
  type MadeToken,
  markApiTokenRevoked,
} from './store.ts';
import { scopesBeyond } from './token-rules.ts';

/** Unrevoked tokens of all operators together. */
export const API_TOKENS_MAX = 1_000;

/** Creates a token; only this answer contains its secret. */
export async function createApiToken(
  platform: Platform,
  {
    asked,
    by,
  }: { asked: NewApiToken; by: Pick<OperatorCaller, 'operatorId' | 'username' | 'sessionId' | 'address'> },
): Promise<{ row: MadeToken; secret: string }> {
  const nowMs = platform.now();
  demandSound(asked, nowMs);
  const secret = makeApiSecret(platform.random);
  const secretHash = hashApiSecret(secret);
  if (secretHash === null) throw new Error('a new API token has the wrong format');
  const wanted = {
    ...{ id: platform.newId(), operator_id: by.operatorId, label: asked.label, secret_hash: secretHash },
    ...{ role: asked.role, groups: writeGroups(asked.groups ?? null) },
    scopes: asked.scopes ? JSON.stringify(asked.scopes) : null,
    ...{ created_by: by.username, created_at: nowMs, expires_at: Date.parse(asked.expires_at) },
    ...{ last_used_at: null, revoked_at: null },
  };
  return platform.database.transact(async (tx) => {
    await demandLiveSession(tx, by);
    if ((await countApiTokens(tx)) >= API_TOKENS_MAX) {
      throw new Refusal('conflict', {
        detail: `There are already ${API_TOKENS_MAX} API tokens: revoke some that are not needed.`,
      });
    }
    const row = await insertApiToken(tx, wanted);
    if (!row) {
      throw new Refusal('conflict', {
        detail: 'You already have an API token with this label: choose another, or revoke that one.',
      });
    }
    const maker = await findOperator(tx, by.operatorId);
    const madeRow: MadeToken = {
      ...row,
      maker_name: maker?.username ?? null,
      maker_role: maker?.role ?? null,
      maker_groups: maker?.groups ?? null,
      maker_disabled_at: maker?.disabled_at ?? null,
    };
    // An operator who was disabled or demoted during the request creates none.
    if (verdictOf(madeRow, nowMs).state !== 'active') {
      throw new Refusal('forbidden', { detail: 'An API token may do no more than its creator.' });
    }
    await recordChange(tx, platform, { type: 'API_TOKEN_CREATED', row, by });
    return { row: madeRow, secret };
  });
}

/** False when there is no unrevoked token with this id. */
export async function revokeApiToken(
  platform: Platform,
  { id, by }: { id: string; by: NoticeBy },
): Promise<boolean> {
  return platform.database.transact(async (tx) => {
    const row = await findApiToken(tx, id);
    if (!row || !(await markApiTokenRevoked(tx, { id, atMs: platform.now() }))) return false;
    await recordChange(tx, platform, { type: 'API_TOKEN_REVOKED', row, by });
    return true;
  });
}

function demandSound({ role, scopes, expires_at }: NewApiToken, nowMs: number): void {
  const errors: FieldFault[] = [];
  const expiresAtMs = Date.parse(expires_at);
  if (!(expiresAtMs > nowMs && expiresAtMs <= nowMs + API_TOKEN_MAX_MS)) {
    errors.push({ path: '/expires_at', message: 'must be a time in the next 365 days' });
  }
  const beyond = scopesBeyond(role, scopes ?? []);
  if (beyond.length > 0) {
    errors.push({ path: '/scopes', message: `the role ${role} cannot use ${beyond.join(', ')}` });
  }
  if (errors.length > 0) throw notValid(errors);
}

async function recordChange(
  tx: Tx,
  platform: Platform,
  act: { type: 'API_TOKEN_CREATED' | 'API_TOKEN_REVOKED'; row: ApiTokenRow; by: NoticeBy },
): Promise<void> {
  const { id, label, role, groups, scopes, created_by, expires_at } = act.row;
  await appendEvent(tx, platform, {
    kind: 'security',
    type: act.type,
    severity: 'warning',
    component: 'api-tokens',
    actor: act.by.username,
    content: {
      ...{ token_id: id, label, role, groups: readGroups(groups), scopes: readScopes(scopes) },
      ...{ created_by, expires_at: rfc3339(expires_at) },
    },
  });
  // The creator may be deleted.
  if (!(await findOperator(tx, act.row.operator_id))) return;
  const kind = act.type === 'API_TOKEN_CREATED' ? 'api_token_created' : 'api_token_revoked';
  await notify(tx, platform, { operatorId: act.row.operator_id, kind, subject: label, by: act.by });
}
