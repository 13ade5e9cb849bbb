import { Envelope, KEY_SETS_PAGE, PublicKeysAnswer } from '@tidegate/protocol/documents';
import { Problem } from '@tidegate/protocol/problems';
import { nullable, PublicKeyHex, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { generatePrivateKeyHex, loadSigningKey } from '@tidegate/signing/sign';
import { KeyError, loadTrustedKey } from '@tidegate/signing/verify';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { agentsBehindKeySet } from '../agents/key-set-store.ts';
import { countAgentsWithKeySet } from '../agents/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { cutPage, decodePositionCursor, PageQuery, pageLimit, pageOf } from '../platform/http/lists.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { addKey, putKeyInUse, revokeVersion } from './change-keys.ts';
import { awaitsRoot } from './install-key-set.ts';
import type { KeyFolder } from './key-folder.ts';
import type { KeyRing } from './key-ring.ts';
import { leastKeySet } from './readiness.ts';
import { keySetsAfter, listKeys, rootsAfter, type SigningKeyRow } from './store.ts';

const KeyAnswer = Type.Object({
  key_id: Uuid,
  version: Type.Integer(),
  public_key_hex: PublicKeyHex,
  status: Type.Enum(['active', 'revoked']),
  created_at: Timestamp,
  revoked_at: nullable(Timestamp),
  in_use: Type.Boolean(),
  /** With an offline root: no key set contains the key yet, so no agent trusts it. */
  awaits_root: Type.Boolean(),
});
const KeyListItem = Type.Object({ ...KeyAnswer.properties, trusted_by: Type.Integer({ minimum: 0 }) });
const VersionParams = strict({ version: Type.String({ pattern: '^[1-9][0-9]{0,8}$' }) });
const Version = Type.String({ pattern: '^(0|[1-9][0-9]{0,8})$' });
const SinceQuery = strict({ since: Type.Optional(Version), root_since: Type.Optional(Version) });
const ForceQuery = strict({ force: Type.Optional(Type.Enum(['true', 'false'])) });
const admin: OperatorAccess = { role: 'admin', limit: 'admin_operations', reach: 'fleet', stepUp: true };
const path = '/api/v1/admin/signing-keys';

export interface SigningKeysDeps {
  platform: Platform;
  keyRing: KeyRing;
  keyFolder: KeyFolder;
}

/** E8, and signing keys for operators. To rotate: add a key, use it, then revoke the old version. */
export function mountSigningKeys(routes: Routes, deps: SigningKeysDeps): void {
  const { platform, keyRing } = deps;

  routes.public({
    method: 'GET',
    url: '/api/v1/public-keys',
    access: { limit: 'public_access' },
    schema: {
      summary: 'E8: active signing keys, and the key sets that lead from the one that the caller has',
      tags: ['agents'],
      querystring: SinceQuery,
      response: { 200: PublicKeysAnswer, 400: Problem },
    },
    handler: async ({ query }) => {
      // Another server may have changed the keys; a state document that is due reloads them.
      await keyRing.state();
      const { keys, envelope } = keyRing.keySet();
      const newest = { keys, key_set: envelope };
      if (query.since === undefined) return newest;
      return { ...newest, ...(await readChain(platform.database.read, query)) };
    },
  });

  routes.operator({
    method: 'GET',
    url: path,
    access: { role: 'viewer', limit: 'admin_reads', reach: 'fleet' },
    schema: {
      summary: 'Signing keys',
      tags: ['signing keys'],
      querystring: strict(PageQuery),
      response: { 200: pageOf(KeyListItem), 400: Problem },
    },
    handler: async ({ query }) => {
      const limit = pageLimit(query);
      const before = query.cursor === undefined ? null : decodePositionCursor(query.cursor);
      await keyRing.reload();
      // Newest first. There are few keys, all in memory.
      const rows = keyRing.rows().filter(({ version }) => before === null || version < before);
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ version }) => version });
      return {
        items: await Promise.all(
          page.map(async (row) => ({ ...answerOf(row), trusted_by: await trustedBy(deps, row) })),
        ),
        next_cursor,
        total: keyRing.rows().length,
      };
    },
  });

  routes.operator({
    method: 'POST',
    url: path,
    access: admin,
    schema: {
      summary: 'Add a signing key: made by the server, or by its public half',
      tags: ['signing keys'],
      body: strict({ public_key_hex: Type.Optional(PublicKeyHex) }),
      response: { 201: KeyAnswer, 400: Problem, 409: Problem },
    },
    handler: async ({ operator, body }) => {
      await keyRing.reload();
      const keyId = platform.newId();
      const publicKeyHex = body.public_key_hex ?? makeKey(deps, keyId);
      requireSound(keyId, publicKeyHex);
      if (keyRing.rows().some((row) => row.public_key_hex === publicKeyHex)) {
        throw new Refusal('conflict', { detail: 'This key is known already.' });
      }
      const key = { keyId, publicKeyHex, inUse: false };
      const change = { key, vouchers: keyRing.vouchers(), actor: operator.username };
      const row = await platform.database.transact((tx) => addKey(tx, platform, change));
      await keyRing.reload();
      return answerOf(row);
    },
  });

  routes.operator({
    method: 'POST',
    url: `${path}/:version/use`,
    access: admin,
    schema: {
      summary: 'Sign with this key from now on',
      tags: ['signing keys'],
      params: VersionParams,
      response: { 200: KeyAnswer, 404: Problem, 409: Problem },
    },
    handler: async ({ params }) => {
      await keyRing.reload();
      const row = findVersion(keyRing, params.version);
      if (row.status === 'revoked') throw new Refusal('conflict', { detail: 'This key is revoked.' });
      if (awaitsRoot(row)) {
        throw new Refusal('conflict', { detail: 'This key waits for the signatures of the offline root.' });
      }
      const key = keyRing.held(row.key_id);
      if (!key || !keyRing.isActive(row.key_id)) {
        throw new Refusal('conflict', { detail: 'The server does not hold the private half of this key.' });
      }
      const vouchers = keyRing.vouchers(key);
      const outcome = await platform.database.transact((tx) => putKeyInUse(tx, platform, vouchers));
      if (outcome === 'not_active') throw new Refusal('conflict', { detail: 'This key is revoked.' });
      await keyRing.reload();
      return answerOf(findVersion(keyRing, params.version));
    },
  });

  routes.operator({
    method: 'POST',
    url: `${path}/:version/revoke`,
    access: admin,
    schema: {
      summary: 'Revoke a signing key, for good; `force` also where hosts would have to be enrolled again',
      tags: ['signing keys'],
      params: VersionParams,
      querystring: ForceQuery,
      response: { 200: KeyAnswer, 404: Problem, 409: Problem },
    },
    handler: async ({ operator, params, query }) => {
      await keyRing.reload();
      const version = Number(params.version);
      if (query.force !== 'true') await refuseToStrand();
      const change = { version, vouchers: keyRing.vouchers(), actor: operator.username };
      const outcome = await platform.database.transact((tx) => revokeVersion(tx, platform, change));
      switch (outcome) {
        case 'unknown':
          throw new Refusal('not_found', { detail: 'There is no signing key with this version.' });
        case 'in_use':
          throw new Refusal('conflict', { detail: 'This key is in use: put another one in use first.' });
        case 'already_revoked':
          throw new Refusal('conflict', { detail: 'This key is revoked already.' });
        case 'revoked':
          await keyRing.reload();
          return answerOf(findVersion(keyRing, params.version));
      }
    },
  });

  async function refuseToStrand(): Promise<void> {
    const { read } = platform.database;
    const inUse = (await listKeys(read)).find((row) => row.in_use === 1);
    const version = await leastKeySet(read, inUse);
    const { count } = await agentsBehindKeySet(read, { version, seenOnly: true });
    if (count === 0) return;
    throw new Refusal('conflict', {
      detail: `${count} agents hold a key set that no stored key set leads on from, and do not know the key in use: after the revocation they would have to be enrolled again. "?force=true" revokes all the same.`,
    });
  }
}

/**
 * For hosts that were offline: each key set is signed by keys of the one before, and so are root documents.
 */
async function readChain(db: Db, { since, root_since }: Static<typeof SinceQuery>) {
  const sets = await keySetsAfter(db, { version: Number(since), limit: KEY_SETS_PAGE });
  const roots = await rootsAfter(db, Number(root_since ?? 0));
  return {
    key_sets: sets.map(({ envelope }) => parseEnvelope(envelope)),
    roots: roots.map(({ envelope }) => parseEnvelope(envelope)),
  };
}

/** Agents trust only keys in a key set: a key that is in none counts 0, whatever its row says. */
async function trustedBy({ platform, keyRing }: SigningKeysDeps, row: SigningKeyRow) {
  if (awaitsRoot(row) || (row.status === 'active' && !keyRing.isActive(row.key_id))) return 0;
  return countAgentsWithKeySet(platform.database.read, row.first_key_set_version);
}

function makeKey({ platform, keyRing, keyFolder }: SigningKeysDeps, keyId: string): string {
  const privateKeyHex = generatePrivateKeyHex(platform.random(32));
  const key = loadSigningKey({ keyId, privateKeyHex });
  keyFolder.write({ keyId, privateKeyHex });
  keyRing.hold(key);
  return key.publicKeyHex;
}

function requireSound(keyId: string, publicKeyHex: string): void {
  try {
    loadTrustedKey({ keyId, publicKeyHex });
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    const errors = [
      { path: '/public_key_hex', message: `is not a usable Ed25519 public key (${error.code})` },
    ];
    throw new Refusal('invalid_request', { detail: 'The key cannot be used.', errors });
  }
}

function parseEnvelope(text: string): Envelope {
  return Value.Parse(Envelope, JSON.parse(text));
}

function findVersion(keyRing: KeyRing, version: string): SigningKeyRow {
  const row = keyRing.rows().find((r) => r.version === Number(version));
  if (!row) throw new Refusal('not_found', { detail: 'There is no signing key with this version.' });
  return row;
}

function answerOf(row: SigningKeyRow) {
  return {
    key_id: row.key_id,
    version: row.version,
    public_key_hex: row.public_key_hex,
    status: row.status,
    created_at: rfc3339(row.created_at),
    revoked_at: row.revoked_at === null ? null : rfc3339(row.revoked_at),
    in_use: row.in_use === 1,
    awaits_root: awaitsRoot(row),
  };
}
