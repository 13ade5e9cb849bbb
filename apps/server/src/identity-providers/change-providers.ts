import {
  type IdentityProviderChange,
  type NewIdentityProvider,
  PROVIDERS_MAX,
} from '@tidegate/protocol/identity-providers-api';
import { GROUPS_MAX } from '@tidegate/protocol/operators-api';
import { appendEvent } from '../events/append-event.ts';
import type { EndTokens } from '../operators/end-access.ts';
import { endProviderSessions, operatorsOf } from '../operators/identities/store.ts';
import { hasPassword } from '../operators/passwords/no-password.ts';
import { findOperator } from '../operators/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { type FieldFault, noSuch, notValid, Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { sealSecret } from '../platform/seal-secret.ts';
import type { ProviderClient } from './provider-client.ts';
import {
  countProviders,
  deleteProvider,
  findProvider,
  insertProvider,
  lockProvider,
  type ProviderRow,
  updateProvider,
} from './store.ts';

export interface ChangeProviderDeps {
  platform: Platform;
  client: Pick<ProviderClient, 'forget'>;
  key: Buffer;
  endTokens: EndTokens;
}

/** A new provider is off until it is enabled, so that it can be tested first. */
export async function addProvider(
  { platform, key }: ChangeProviderDeps,
  { asked, by }: { asked: NewIdentityProvider; by: { username: string } },
): Promise<ProviderRow> {
  demandSound({ ...asked, issuer: asked.issuer });
  const now = platform.now();
  const wanted = {
    id: asked.id,
    name: asked.name,
    issuer: asked.issuer,
    client_id: asked.client_id,
    sealed_secret: sealOf(asked.client_secret, { platform, key, id: asked.id }),
    client_auth: asked.client_auth ?? 'client_secret_basic',
    scopes: JSON.stringify(asked.scopes ?? ['openid', 'profile', 'email']),
    group_claim: asked.group_claim ?? 'groups',
    username_claim: asked.username_claim ?? 'preferred_username',
    mapping: JSON.stringify(asked.mapping ?? []),
    default_grant: textOf(asked.default_grant ?? null),
    creates_operators: asked.creates_operators ? 1 : 0,
    factor_values: JSON.stringify(asked.factor_values ?? []),
    acr_values: asked.acr_values ?? null,
    enabled: asked.enabled ? 1 : 0,
    created_by: by.username,
    ...{ created_at: now, changed_at: now },
  } as const;
  return platform.database.transact(async (tx) => {
    if ((await countProviders(tx)) >= PROVIDERS_MAX) {
      throw new Refusal('conflict', { detail: `A server has at most ${PROVIDERS_MAX} identity providers.` });
    }
    const row = await insertProvider(tx, wanted);
    if (!row) throw new Refusal('conflict', { detail: 'An identity provider with this id exists already.' });
    await recordChange(tx, platform, { row, by, content: { change: 'created', ...shown(row) } });
    return row;
  });
}

/** What decides who may sign in, or what they may do: a change of it ends the sessions that it had decided. */
const DECIDING = [
  ...(['client_id', 'group_claim', 'mapping', 'default_grant', 'factor_values', 'enabled'] as const),
];

export async function changeProvider(
  { platform, client, key }: ChangeProviderDeps,
  { id, change, by }: { id: string; change: IdentityProviderChange; by: { username: string } },
): Promise<ProviderRow> {
  const after = await platform.database.transact(async (tx) => {
    const before = await lockProvider(tx, id);
    if (!before) throw noSuch('identity provider');
    demandSound({ ...change, issuer: before.issuer });
    const row = await updateProvider(tx, before, {
      ...columnsOf(change),
      ...(change.client_secret === undefined
        ? {}
        : { sealed_secret: sealOf(change.client_secret, { platform, key, id }) }),
      changed_at: Math.max(platform.now(), before.changed_at + 1),
    });
    const isDecided = DECIDING.some((column) => row[column] !== before[column]);
    const sessions = isDecided ? await endSessions(tx, platform, { providerId: id, by }) : 0;
    const content = {
      change: 'changed',
      before: shown(before),
      after: shown(row),
      secret_changed: change.client_secret !== undefined,
      sessions_ended: sessions,
    };
    await recordChange(tx, platform, { row, by, content });
    return row;
  });
  client.forget(id);
  return after;
}

/** Its accounts log nobody in any more: their sessions end, and the API tokens of operators without a password. */
export async function removeProvider(
  { platform, client, endTokens }: ChangeProviderDeps,
  { id, by }: { id: string; by: { username: string } },
): Promise<void> {
  await platform.database.transact(async (tx) => {
    const row = await findProvider(tx, id);
    const sessions = await endSessions(tx, platform, { providerId: id, by });
    const bound = await operatorsOf(tx, id);
    let tokens = 0;
    for (const operatorId of bound) {
      const operator = await findOperator(tx, operatorId);
      if (operator && hasPassword(operator)) continue;
      tokens += await endTokens(tx, { operatorId, atMs: platform.now() });
    }
    // A row with a broken seal can be deleted too.
    if (!(await deleteProvider(tx, id))) throw noSuch('identity provider');
    const ended = { sessions_ended: sessions, api_tokens_revoked: tokens, operators: bound.length };
    const content = { change: 'deleted', ...(row ? shown(row) : {}), ...ended };
    await recordChange(tx, platform, { row: { id }, by, content });
  });
  client.forget(id);
}

async function endSessions(
  tx: Tx,
  platform: Platform,
  { providerId, by }: { providerId: string; by: { username: string } },
): Promise<number> {
  const ended = await endProviderSessions(tx, { providerId, nowMs: platform.now() });
  if (ended.length > 0) {
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'SESSION_REVOKED',
      severity: 'info',
      component: 'identity-providers',
      actor: by.username,
      content: { provider: providerId, sessions: ended.length },
    });
  }
  return ended.length;
}

/** What the schema cannot say. */
function demandSound(asked: Partial<NewIdentityProvider> & { issuer: string }): void {
  const faults: FieldFault[] = [];
  const { issuer, scopes, mapping = [] } = asked;
  if (!URL.canParse(issuer)) faults.push({ path: '/issuer', message: 'is not an address' });
  else if (new URL(issuer).protocol === 'http:' && !LOOPBACK.includes(new URL(issuer).hostname)) {
    faults.push({ path: '/issuer', message: 'needs https: everybody on the way could sign in as anybody' });
  }
  if (scopes && !scopes.includes('openid')) faults.push({ path: '/scopes', message: 'must contain openid' });
  const groups = new Set(mapping.flatMap((rule) => rule.groups ?? []));
  if (groups.size > GROUPS_MAX) {
    faults.push({ path: '/mapping', message: `may name at most ${GROUPS_MAX} groups of hosts in all` });
  }
  if (faults.length > 0) throw notValid(faults);
}

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

function columnsOf(change: IdentityProviderChange) {
  const {
    client_secret: _,
    scopes,
    mapping,
    default_grant,
    creates_operators,
    factor_values,
    enabled,
    ...same
  } = change;
  return {
    ...same,
    ...(scopes === undefined ? {} : { scopes: JSON.stringify(scopes) }),
    ...(mapping === undefined ? {} : { mapping: JSON.stringify(mapping) }),
    ...(default_grant === undefined ? {} : { default_grant: textOf(default_grant) }),
    ...(creates_operators === undefined ? {} : { creates_operators: creates_operators ? 1 : 0 }),
    ...(factor_values === undefined ? {} : { factor_values: JSON.stringify(factor_values) }),
    ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
  };
}

function textOf(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

function sealOf(
  secret: string,
  { platform, key, id }: { platform: Platform; key: Buffer; id: string },
): string {
  return sealSecret(Buffer.from(secret), { key, owner: id, random: platform.random });
}

/** What events say of a provider: never the secret. */
function shown(row: ProviderRow) {
  return {
    ...{ name: row.name, issuer: row.issuer, client_id: row.client_id, enabled: row.enabled === 1 },
    ...{
      group_claim: row.group_claim,
      mapping: JSON.parse(row.mapping),
      creates_operators: row.creates_operators === 1,
    },
    default_grant: row.default_grant === null ? null : JSON.parse(row.default_grant),
    factor_values: JSON.parse(row.factor_values),
  };
}

async function recordChange(
  tx: Tx,
  platform: Platform,
  act: { row: { id: string }; by: { username: string }; content: Readonly<Record<string, unknown>> },
): Promise<void> {
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'IDENTITY_PROVIDER_CHANGED',
    severity: 'warning',
    component: 'identity-providers',
    actor: act.by.username,
    content: { provider: act.row.id, ...act.content },
  });
}
