import { createHash } from 'node:crypto';
import { nullable } from '@tidegate/protocol/scalars';
import { sql } from 'kysely';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { operatorTags } from './agents/tag-store.ts';
import { readGateSetting } from './approvals/gate-settings-store.ts';
import { liveAgeExceptions } from './approvals/store.ts';
import { awaitedSets } from './commands/awaited-store.ts';
import { addToken, revokeToken } from './fleet-lock/manage-tokens.ts';
import { findIdentity, findProviderSession, insertProviderSession } from './operators/identities/store.ts';
import { originsInForce } from './origins/store.ts';
import { openDatabase } from './platform/db/open.ts';
import { policiesInForce } from './policies/store.ts';
import { createResyncGate } from './restore/resync.ts';
import { OPERATOR_PASSWORD } from './testing/app-clients.ts';
import { updateRow } from './testing/approvals-app.ts';
import { databaseOptions } from './testing/database-options.ts';
import { SAMPLED_ENGINES } from './testing/engines.ts';
import { type IncidentScene, openIncidentScene } from './testing/incident-scene.ts';
import { createHousehold } from './testing/restored-server.ts';
import { STANDING } from './testing/standing.ts';
import { writeRaw } from './testing/write-raw.ts';
import { findRollback, insertRollback } from './updates/rollbacks-store.ts';
import { insertUpdates } from './updates/store.ts';
import { setDigest } from './updates/update-set.ts';
import { statementsAbout } from './vex/store.ts';

/** Attacks by somebody who can write to the database and has none of the keys of the data folder (SECURITY.md). */

const SECRET = `tg_${'A'.repeat(43)}`;
const API_TOKENS = '/api/v1/admin/api-tokens';
const OPERATORS = '/api/v1/admin/operators';
const REGISTRATION = '/api/v1/admin/registration-tokens';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const Commands = Type.Object({ commands: Type.Array(Type.Object({ payload: Type.String() })) });
const Payload = Type.Object({ action: Type.String() });
const Secret = Type.Object({ id: Type.String(), token: Type.String() });
const Made = Type.Object({ id: Type.String() });
const Told = Type.Object({
  items: Type.Array(Type.Object({ severity: Type.String(), content: Type.Object({ table: Type.String() }) })),
});

const run = ({ database }: IncidentScene, statement: string) =>
  database.transact((tx) => sql.raw(statement).execute(tx));

/** The tables named by critical events so far, each once. */
async function toldOf({ app, database }: IncidentScene): Promise<string[]> {
  await app.settled();
  const query = database.read.selectFrom('events').select(['severity', 'content']);
  const rows = await query.where('type', '=', 'ROW_SEAL_BROKEN').execute();
  const { items } = Value.Parse(Told, {
    items: rows.map((row) => ({ ...row, content: JSON.parse(row.content) })),
  });
  return [...new Set(items.flatMap((it) => (it.severity === 'critical' ? it.content.table : [])))];
}

/** Whether the caller is authenticated: the status of a list that every role may read. */
const reads = async ({ send }: IncidentScene, token: string) =>
  (await send({ method: 'GET', url: '/api/v1/agents', token })).status;

const logIn = async ({ send }: IncidentScene, username: string, password = OPERATOR_PASSWORD) =>
  (await send({ method: 'POST', url: '/api/v1/auth/login', body: { username, password } })).status;

async function makeToken({ must, asAdmin, app }: IncidentScene, asked: object = {}) {
  const expires_at = new Date(app.platform.now() + 86_400_000).toISOString();
  const body = { label: 'ci', role: 'viewer', groups: ['web'], scopes: ['read'], expires_at, ...asked };
  return Value.Parse(Secret, await must(asAdmin(API_TOKENS, body), 201));
}

async function register({ send }: IncidentScene, token: string, machineId: string): Promise<number> {
  const os = { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' };
  const body = { hostname: 'host', os, agent_version: '1.0.0' };
  return (await send({ method: 'POST', url: '/api/v1/agents/register', token, machineId, body })).status;
}

async function addFleetLock({ database, app }: IncidentScene) {
  const made = await database.transact((tx) => addToken(tx, app.platform, { group: 'web', by: 'cli' }));
  if (!made.ok) throw new Error(made.why);
  return made;
}

/** The status of a FleetLock call for a group. */
async function asks({ send }: IncidentScene, token: { id: string; secret: string }, group = 'web') {
  const basic = Buffer.from(`${token.id}:${token.secret}`).toString('base64');
  const headers = { authorization: `Basic ${basic}`, 'fleet-lock-protocol': 'true' };
  const body = { client_params: { id: 'core-1', group } };
  return (await send({ method: 'POST', url: '/v1/pre-reboot', headers, body })).status;
}

const PROVIDERS = '/api/v1/admin/identity-providers';
const PROVIDER = {
  ...{ id: 'house', name: 'House', issuer: 'http://127.0.0.1:1', enabled: true },
  ...{ client_id: 'tidegate', client_secret: 'a secret' },
};
const ACCOUNT = { providerId: 'house', issuer: PROVIDER.issuer, subject: 'viewer-1' };

/** 404 for a provider that is unknown, or off. */
const beginSignIn = async ({ send }: IncidentScene, provider_id: string) =>
  (await send({ method: 'POST', url: '/api/v1/auth/login/provider', body: { provider_id } })).status;

async function bindViewer({ must, asAdmin, database }: IncidentScene): Promise<void> {
  await must(asAdmin(PROVIDERS, PROVIDER), 201);
  const viewer = await database.read
    .selectFrom('operators')
    .select('id')
    .where('username', '=', 'viewer')
    .executeTakeFirstOrThrow();
  const body = { provider_id: PROVIDER.id, subject: ACCOUNT.subject };
  await must(asAdmin(`${OPERATORS}/${viewer.id}/identities`, body), 201);
  expect(await findIdentity(database.read, ACCOUNT)).not.toBeNull();
}

interface Attack {
  what: string;
  table: string;
  /** The writer's use of the change: a status of 401 or 404, or false, means that it failed. */
  attempt: (scene: IncidentScene) => Promise<number | boolean>;
  refused: number | boolean;
}

const ATTACKS: Attack[] = [
  ...[
    "role = 'admin'",
    'groups = NULL',
    'scopes = NULL',
    'expires_at = expires_at + 1',
    "operator_id = 'x'",
  ].map(
    (change): Attack => ({
      what: `an API token with ${change.split(' ', 1)[0]} changed`,
      table: 'api_tokens',
      async attempt(scene) {
        const { token } = await makeToken(scene);
        expect(await reads(scene, token)).toBe(200);
        await run(scene, `UPDATE api_tokens SET ${change}`);
        return reads(scene, token);
      },
      refused: 401,
    }),
  ),
  {
    what: 'an API token with the secret of another',
    table: 'api_tokens',
    async attempt(scene) {
      await makeToken(scene, { label: 'strong', role: 'admin', groups: null, scopes: null });
      const { id, token } = await makeToken(scene);
      await run(scene, `DELETE FROM api_tokens WHERE id = '${id}'`);
      await run(scene, `UPDATE api_tokens SET secret_hash = '${sha256(token)}'`);
      return reads(scene, token);
    },
    refused: 401,
  },
  ...["role = 'admin'", 'groups = \'["web"]\'', "username = 'root'"].map(
    (change): Attack => ({
      what: `an operator with ${change.split(' ', 1)[0]} changed`,
      table: 'operators',
      async attempt(scene) {
        expect(await reads(scene, scene.viewer)).toBe(200);
        await run(scene, `UPDATE operators SET ${change} WHERE username = 'viewer'`);
        return reads(scene, scene.viewer);
      },
      refused: 401,
    }),
  ),
  {
    what: 'an API token whose creator was made an admin',
    table: 'operators',
    async attempt(scene) {
      const { token } = await makeToken(scene, { groups: null });
      await run(scene, `UPDATE operators SET groups = '["web"]' WHERE username = 'admin'`);
      return reads(scene, token);
    },
    refused: 401,
  },
  {
    what: 'a password hash of another operator',
    table: 'operators',
    async attempt(scene) {
      const hash = `(SELECT o.password_hash FROM (SELECT * FROM operators) o WHERE o.username = 'viewer')`;
      await run(scene, `UPDATE operators SET password_hash = ${hash} WHERE username = 'admin'`);
      return logIn(scene, 'admin');
    },
    refused: 401,
  },
  {
    what: 'an inserted operator with a known password',
    table: 'operators',
    async attempt(scene) {
      await run(
        scene,
        `INSERT INTO operators (id, username, password_hash, role, groups, created_at, disabled_at, seal)
          SELECT 'mallory', 'mallory', password_hash, 'admin', NULL, 1, NULL, seal FROM operators
          WHERE username = 'viewer'`,
      );
      return logIn(scene, 'mallory');
    },
    refused: 401,
  },
  {
    what: 'a disabled operator made active again',
    table: 'operators',
    async attempt(scene) {
      const asked = { username: 'gone', password: OPERATOR_PASSWORD, role: 'admin' };
      const { id } = Value.Parse(Made, await scene.must(scene.asAdmin(OPERATORS, asked), 201));
      expect(await logIn(scene, 'gone')).toBe(200);
      const { admin: token } = scene;
      await scene.must({ method: 'PATCH', url: `${OPERATORS}/${id}`, token, body: { disabled: true } });
      await run(scene, `UPDATE operators SET disabled_at = NULL WHERE id = '${id}'`);
      return logIn(scene, 'gone');
    },
    refused: 401,
  },
  ...['second_factor_at = 1795251600000', 'expires_at = expires_at + 1', "method = 'passkey'"].map(
    (change): Attack => ({
      what: `a session with ${change.split(' ', 1)[0]} changed`,
      table: 'operator_sessions',
      async attempt(scene) {
        await run(scene, `UPDATE operator_sessions SET ${change}`);
        return reads(scene, scene.viewer);
      },
      refused: 401,
    }),
  ),
  {
    what: 'a session that had ended, opened again',
    table: 'operator_sessions',
    async attempt(scene) {
      await scene.must({ method: 'POST', url: '/api/v1/auth/logout', token: scene.viewer }, 204);
      await run(scene, 'UPDATE operator_sessions SET revoked_at = NULL');
      return reads(scene, scene.viewer);
    },
    refused: 401,
  },
  {
    what: 'a revoked API token, revived',
    table: 'api_tokens',
    async attempt(scene) {
      const { id, token } = await makeToken(scene);
      await scene.must({ method: 'DELETE', url: `${API_TOKENS}/${id}`, token: scene.admin }, 204);
      await run(scene, 'UPDATE api_tokens SET revoked_at = NULL');
      return reads(scene, token);
    },
    refused: 401,
  },
  {
    what: 'a recovery code of one operator given to another',
    table: 'operator_recovery_codes',
    async attempt(scene) {
      const { recoveryCodes } = await scene.enrolTotp(scene.viewer);
      await scene.enrolTotp(scene.admin);
      await run(scene, `DELETE FROM operator_recovery_codes WHERE operator_id = ${idOf('admin')}`);
      await run(scene, `UPDATE operator_recovery_codes SET operator_id = ${idOf('admin')}`);
      const body = { username: 'admin', password: 'correct horse battery' };
      const given = { ...body, recovery_code: recoveryCodes[0] };
      return (await scene.send({ method: 'POST', url: '/api/v1/auth/login', body: given })).status;
    },
    refused: 401,
  },
  {
    what: 'an authenticator app of one operator given to another',
    table: 'operator_totp',
    async attempt(scene) {
      const { code } = await scene.enrolTotp(scene.viewer);
      await run(scene, `UPDATE operator_totp SET operator_id = ${idOf('admin')}`);
      const body = { username: 'admin', password: 'correct horse battery', totp: code() };
      return (await scene.send({ method: 'POST', url: '/api/v1/auth/login', body })).status;
    },
    refused: 401,
  },
  {
    what: 'an unconfirmed authenticator app, turned on',
    table: 'operator_totp',
    async attempt(scene) {
      const { code } = await scene.beginTotp(scene.viewer);
      await run(scene, 'UPDATE operator_totp SET confirmed_at = created_at');
      const body = { username: 'viewer', password: OPERATOR_PASSWORD, totp: code() };
      return (await scene.send({ method: 'POST', url: '/api/v1/auth/login', body })).status;
    },
    refused: 401,
  },
  ...[
    'seats = 100',
    'seats_used = 0',
    "group_name = 'prod'",
    'expires_at = expires_at + 1',
    "label = 'x'",
  ].map(
    (change): Attack => ({
      what: `a registration token with ${change.split(' ', 1)[0]} changed`,
      table: 'registration_tokens',
      async attempt(scene) {
        const { token } = Value.Parse(
          Secret,
          await scene.must(scene.asAdmin(REGISTRATION, { label: 'one' }), 201),
        );
        expect(await register(scene, token, 'machine-8')).toBe(201);
        await run(scene, `UPDATE registration_tokens SET ${change} WHERE label = 'one'`);
        return register(scene, token, 'machine-9');
      },
      refused: 401,
    }),
  ),
  ...["group_name = 'db'", "created_by = 'ada'"].map(
    (change): Attack => ({
      what: `a FleetLock token with ${change.split(' ', 1)[0]} changed`,
      table: 'fleet_lock_tokens',
      async attempt(scene) {
        const token = await addFleetLock(scene);
        expect(await asks(scene, token)).toBe(200);
        await run(scene, `UPDATE fleet_lock_tokens SET ${change}`);
        return asks(scene, token, change.includes('db') ? 'db' : 'web');
      },
      refused: 401,
    }),
  ),
  {
    what: 'a revoked FleetLock token, revived',
    table: 'fleet_lock_tokens',
    async attempt(scene) {
      const token = await addFleetLock(scene);
      const by = { id: token.id, by: 'cli' };
      expect(await scene.database.transact((tx) => revokeToken(tx, scene.app.platform, by))).toBe(true);
      await run(scene, 'UPDATE fleet_lock_tokens SET revoked_at = NULL');
      return asks(scene, token);
    },
    refused: 401,
  },
  {
    what: 'an inserted FleetLock token',
    table: 'fleet_lock_tokens',
    async attempt(scene) {
      const [id, secret] = [scene.app.platform.newId(), `tgf_${'A'.repeat(43)}`];
      await writeRaw(scene.database, 'fleet_lock_tokens', {
        ...{ id, group_name: 'web', secret_hash: sha256(secret), created_by: 'cli', created_at: 1 },
      });
      return asks(scene, { id, secret });
    },
    refused: 401,
  },
  {
    what: 'an inserted registration token',
    table: 'registration_tokens',
    async attempt(scene) {
      const [token, nowMs] = [`tgr_${'A'.repeat(43)}`, scene.app.platform.now()];
      await writeRaw(scene.database, 'registration_tokens', {
        ...{ id: 'x', label: 'x', secret_hash: sha256(token), seats: 9, seats_used: 0, group_name: null },
        tags: '[]',
        ...{ created_by: 'admin', created_at: nowMs, expires_at: nowMs + 1_000, deleted_at: null },
      });
      return register(scene, token, 'machine-9');
    },
    refused: 401,
  },
  {
    what: 'a withdrawn registration token, revived',
    table: 'registration_tokens',
    async attempt(scene) {
      const made = await scene.must(scene.asAdmin(REGISTRATION, { label: 'one' }), 201);
      const { id, token } = Value.Parse(Secret, made);
      await scene.must({ method: 'DELETE', url: `${REGISTRATION}/${id}`, token: scene.admin }, 204);
      await run(scene, 'UPDATE registration_tokens SET deleted_at = NULL');
      return register(scene, token, 'machine-9');
    },
    refused: 401,
  },
  {
    what: 'an inserted age exception',
    table: 'age_exceptions',
    async attempt({ app, database }) {
      const nowMs = app.platform.now();
      await writeRaw(database, 'age_exceptions', {
        ...{
          id: 'x',
          ecosystem: 'npm',
          name: 'left-pad',
          version: '1.0.0',
          reason: 'ours',
          created_by: 'admin',
        },
        ...{ created_at: nowMs, expires_at: nowMs + 1_000, deleted_at: null },
      });
      const asked = { ecosystem: 'npm', versions: ['1.0.0'], nowMs };
      return (await liveAgeExceptions(database.read, asked)).length > 0;
    },
    refused: false,
  },
  ...["version = '2.0.0'", 'expires_at = expires_at + 1', 'deleted_at = NULL'].map(
    (change): Attack => ({
      what: `an age exception with ${change.split(' ', 1)[0]} changed`,
      table: 'age_exceptions',
      async attempt(scene) {
        const { app, database, must, asAdmin, admin } = scene;
        const nowMs = app.platform.now();
        const expires_at = new Date(nowMs + 86_400_000).toISOString();
        const body = { ecosystem: 'npm', name: 'left-pad', version: '1.0.0', reason: 'ours', expires_at };
        const url = '/api/v1/admin/age-exceptions';
        const { id } = Value.Parse(Made, await must(asAdmin(url, body), 201));
        const live = async (version: string) =>
          (await liveAgeExceptions(database.read, { ecosystem: 'npm', versions: [version], nowMs })).length >
          0;
        expect(await live('1.0.0')).toBe(true);
        if (change.startsWith('deleted'))
          await must({ method: 'DELETE', url: `${url}/${id}`, token: admin }, 204);
        await run(scene, `UPDATE age_exceptions SET ${change}`);
        return live(change.startsWith('version') ? '2.0.0' : '1.0.0');
      },
      refused: false,
    }),
  ),
  {
    what: 'an inserted vulnerability policy',
    table: 'gate_settings',
    async attempt({ app, database }) {
      const row = { value: 'introduced', changed_by: 'admin', changed_at: app.platform.now() };
      await writeRaw(database, 'gate_settings', { id: 'vulnerability_policy', ...row });
      return (await readGateSetting(database.read, 'vulnerability_policy')) !== null;
    },
    refused: false,
  },
  {
    what: 'a vulnerability policy with its value changed',
    table: 'gate_settings',
    async attempt(scene) {
      const { database, must, admin } = scene;
      const url = '/api/v1/admin/vulnerability-policy';
      await must({ method: 'PUT', url, token: admin, body: { policy: 'any' } }, 200);
      expect(await readGateSetting(database.read, 'vulnerability_policy')).toMatchObject({ value: 'any' });
      await run(scene, "UPDATE gate_settings SET value = 'introduced'");
      return (await readGateSetting(database.read, 'vulnerability_policy')) !== null;
    },
    refused: false,
  },
  {
    what: 'an inserted statement about a vulnerability',
    table: 'vex_statements',
    async attempt({ app, database }) {
      const nowMs = app.platform.now();
      await writeRaw(database, 'vex_statements', {
        ...{ id: 'x', sha256: 'a'.repeat(64), envelope: '{}', vulnerability: 'CVE-1', ecosystem: 'npm' },
        ...{ name: 'left-pad', distribution: null, versions: '["1.0.0"]', scope: '{"kind":"all"}' },
        ...{ status: 'not_affected', justification: null, text: 'ours', imported: null, created_by: 'admin' },
        ...{ created_at: nowMs, ends_at: nowMs + 1_000, ended_at: null, end_reason: null, ended_by: null },
      });
      const packages = [{ ecosystem: 'npm', name: 'left-pad' } as const];
      return (await statementsAbout(database.read, { packages, nowMs })).length > 0;
    },
    refused: false,
  },
  ...[
    ...["vulnerability = 'CVE-2'", 'versions = \'["2.0.0"]\'', `scope = '{"kind":"all"}'`],
    ...["name = 'right-pad'", "ecosystem = 'pypi'"],
    ...["status = 'not_affected'", 'ends_at = ends_at + 1', 'ended_at = NULL'],
  ].map(
    (change): Attack => ({
      what: `a statement about a vulnerability with ${change.split(' ', 1)[0]} changed`,
      table: 'vex_statements',
      async attempt(scene) {
        const { app, database, must, asAdmin, admin } = scene;
        const nowMs = app.platform.now();
        const body = {
          ...{ vulnerability: 'CVE-1', ecosystem: 'npm', package: 'left-pad', distribution: null },
          ...{ versions: ['1.0.0'], scope: { kind: 'group', group: 'web' }, status: 'accepted' },
          ...{ justification: null, text: 'ours', ends_at: new Date(nowMs + 86_400_000).toISOString() },
        };
        const url = '/api/v1/admin/vex-statements';
        const { id } = Value.Parse(Made, await must(asAdmin(url, body), 201));
        const packages = [
          { ecosystem: 'npm', name: 'left-pad' },
          { ecosystem: 'npm', name: 'right-pad' },
          { ecosystem: 'pypi', name: 'left-pad' },
        ] as const;
        const live = async () => (await statementsAbout(database.read, { packages, nowMs })).length > 0;
        expect(await live()).toBe(true);
        if (change.startsWith('ended'))
          await must({ method: 'DELETE', url: `${url}/${id}`, token: admin }, 204);
        await run(scene, `UPDATE vex_statements SET ${change}`);
        return live();
      },
      refused: false,
    }),
  ),
  {
    what: 'an inserted row of an update that waits for its plan',
    table: 'awaited_updates',
    async attempt({ app, agent, database }) {
      const [id, now] = [app.platform.newId(), app.platform.now()];
      const update = { ecosystem: 'apt', name: 'curl', version: '8.0-1', state: 'awaiting_plan' } as const;
      await database.transact((tx) =>
        insertUpdates(tx, [updateRow({ id, agentId: agent.agentId, ...update, now })]),
      );
      await writeRaw(database, 'awaited_updates', {
        ...{ update_id: id, set_sha256: setDigest([id]), asked_by: 'admin', asked_at: now, round: 0 },
      });
      return (await awaitedSets(database.read, { after: '', limit: 10 })).length > 0;
    },
    refused: false,
  },
  {
    what: 'what a rollback undoes',
    table: 'rollbacks',
    async attempt(scene) {
      const { app, agent, database } = scene;
      const [id, now] = [app.platform.newId(), app.platform.now()];
      const update = { ecosystem: 'apt', name: 'curl', version: '8.0-1', state: 'pending' } as const;
      const row = { ...updateRow({ id, agentId: agent.agentId, ...update, now }), rollback_of: 'token' };
      await database.transact(async (tx) => {
        await insertUpdates(tx, [row]);
        const actions = [{ action: 'remove', name: 'curl', from_version: '8.0-1' } as const];
        await insertRollback(tx, { updateId: id, tokenId: 'token', actions });
      });
      expect(await findRollback(database.read, id)).not.toBeNull();
      await run(scene, `UPDATE rollbacks SET actions = '[{"action":"remove","name":"sshd"}]'`);
      return (await findRollback(database.read, id)) !== null;
    },
    refused: false,
  },
  {
    what: 'an inserted policy',
    table: 'policies',
    async attempt({ app, database }) {
      const nowMs = app.platform.now();
      await writeRaw(database, 'policies', {
        ...{ sha256: 'a'.repeat(64), policy_id: 'x', version: 1, name: 'x', document: '{}', envelope: '{}' },
        ...{ author_id: 'x', author: 'admin', created_at: nowMs, ends_at: nowMs + 1_000 },
        ...{ ended_at: null, end_reason: null, ended_by: null },
      });
      return (await policiesInForce(database.read, { nowMs, limit: 10 })).length > 0;
    },
    refused: false,
  },
  ...[
    ...["policy_id = 'b'", "document = '{}'", "author_id = 'x'", "author = 'eve'", 'ends_at = ends_at + 1'],
    ...["sha256 = 'b'", 'ended_at = NULL'],
  ].map(
    (change): Attack => ({
      what: `a policy with ${change.split(' ', 1)[0]} changed`,
      table: 'policies',
      async attempt(scene) {
        const { app, database, must, asAdmin, admin } = scene;
        const nowMs = app.platform.now();
        const url = '/api/v1/policies';
        const { id } = Value.Parse(Made, await must(asAdmin(url, STANDING), 201));
        const live = async () => (await policiesInForce(database.read, { nowMs, limit: 10 })).length > 0;
        expect(await live()).toBe(true);
        if (change.startsWith('ended'))
          await must({ method: 'DELETE', url: `${url}/${id}`, token: admin }, 204);
        await run(scene, `UPDATE policies SET ${change}`);
        return live();
      },
      refused: false,
    }),
  ),
  {
    what: 'an inserted tag',
    table: 'host_tags',
    async attempt({ app, database, agent: { agentId } }) {
      const set_at = app.platform.now();
      await writeRaw(database, 'host_tags', {
        ...{ agent_id: agentId, key: 'env', value: 'prod', set_by: 'admin', set_at },
      });
      return (await operatorTags(database.read, [agentId])).size > 0;
    },
    refused: false,
  },
  ...["value = 'test'", "key = 'tier'", "set_by = 'eve'"].map(
    (change): Attack => ({
      what: `a tag with ${change.split(' ', 1)[0]} changed`,
      table: 'host_tags',
      async attempt(scene) {
        const { database, must, asAdmin, agent } = scene;
        const has = async () => (await operatorTags(database.read, [agent.agentId])).size > 0;
        const body = { agent_ids: [agent.agentId], set: ['env=prod'], remove: [] };
        await must(asAdmin('/api/v1/agents/tags', body), 200);
        expect(await has()).toBe(true);
        await run(scene, `UPDATE host_tags SET ${change}`);
        return has();
      },
      refused: false,
    }),
  ),
  {
    what: 'an inserted third-party origin',
    table: 'origins',
    async attempt({ app, database }) {
      const nowMs = app.platform.now();
      await writeRaw(database, 'origins', {
        ...{ id: 'x', sha256: 'a'.repeat(64), envelope: '{}', ecosystem: 'apt', signing_key: 'a'.repeat(40) },
        ...{ suites: '["Docker CE:bookworm"]', rule: 'allow', min_age_days: null, reason: 'ours' },
        ...{ created_by: 'admin', created_at: nowMs, ends_at: nowMs + 1_000 },
        ...{ ended_at: null, end_reason: null, ended_by: null },
      });
      return (await originsInForce(database.read, nowMs)).length > 0;
    },
    refused: false,
  },
  ...[
    ...["signing_key = 'b'", `suites = '["Evil:x"]'`, "rule = 'allow'", 'min_age_days = 1'],
    ...['ends_at = ends_at + 1', 'ended_at = NULL'],
  ].map(
    (change): Attack => ({
      what: `a third-party origin with ${change.split(' ', 1)[0]} changed`,
      table: 'origins',
      async attempt(scene) {
        const { app, database, must, asAdmin, admin } = scene;
        const nowMs = app.platform.now();
        const body = {
          ...{ ecosystem: 'apt', key: 'a'.repeat(40), suites: ['Docker CE:bookworm'], rule: 'ask' },
          ...{ min_age_days: null, reason: 'ours', ends_at: new Date(nowMs + 86_400_000).toISOString() },
        };
        const url = '/api/v1/admin/origins';
        const { id } = Value.Parse(Made, await must(asAdmin(url, body), 201));
        const live = async () => (await originsInForce(database.read, nowMs)).length > 0;
        expect(await live()).toBe(true);
        if (change.startsWith('ended'))
          await must({ method: 'DELETE', url: `${url}/${id}`, token: admin }, 204);
        await run(scene, `UPDATE origins SET ${change}`);
        return live();
      },
      refused: false,
    }),
  ),
  ...['inserted', 'held open'].map(
    (how): Attack => ({
      what: `a resync that was ${how}`,
      table: 'resyncs',
      async attempt(scene) {
        const { app, database } = scene;
        const nowMs = app.platform.now();
        const row = { opened_at: nowMs, closes_at: nowMs + 1_000, reason: 'x', opened_by: 'admin' };
        if (how === 'inserted') await writeRaw(database, 'resyncs', { id: 'x', closed_at: null, ...row });
        else {
          await scene.must(scene.asAdmin('/api/v1/admin/resync', { hours: 1, reason: 'restored' }), 201);
          await run(scene, 'UPDATE resyncs SET closes_at = closes_at + 1');
        }
        const gate = createResyncGate({ has: () => false });
        return database.transact((tx) => gate.isOpenFor(tx, { familyId: 'x', nowMs }));
      },
      refused: false,
    }),
  ),
  {
    what: 'an inserted identity provider',
    table: 'identity_providers',
    async attempt(scene) {
      await scene.must(scene.asAdmin(PROVIDERS, PROVIDER), 201);
      await run(scene, "UPDATE identity_providers SET id = 'mallory'");
      return beginSignIn(scene, 'mallory');
    },
    refused: 404,
  },
  ...['mapping', 'default_grant', 'issuer', 'factor_values', 'enabled'].map(
    (column): Attack => ({
      what: `an identity provider with ${column} changed`,
      table: 'identity_providers',
      async attempt(scene) {
        const enabled = column !== 'enabled';
        await scene.must(scene.asAdmin(PROVIDERS, { ...PROVIDER, enabled }), 201);
        // Nothing listens there.
        expect(await beginSignIn(scene, PROVIDER.id)).toBe(enabled ? 503 : 404);
        const value = enabled ? "'[1]'" : '1';
        await run(scene, `UPDATE identity_providers SET ${column} = ${value}`);
        return beginSignIn(scene, PROVIDER.id);
      },
      refused: 404,
    }),
  ),
  {
    what: 'an account of an identity provider given to another operator',
    table: 'operator_identities',
    async attempt(scene) {
      await bindViewer(scene);
      await run(scene, `UPDATE operator_identities SET operator_id = ${idOf('admin')}`);
      return (await findIdentity(scene.database.read, ACCOUNT)) !== null;
    },
    refused: false,
  },
  {
    what: 'an account whose loss of access was made up, to enable a disabled operator',
    table: 'operator_identities',
    async attempt(scene) {
      await bindViewer(scene);
      await run(scene, 'UPDATE operator_identities SET lost_at = 1');
      return (await findIdentity(scene.database.read, ACCOUNT)) !== null;
    },
    refused: false,
  },
  {
    what: 'a session of an identity provider given to another account',
    table: 'provider_sessions',
    async attempt({ database }) {
      const [session] = await database.read.selectFrom('operator_sessions').selectAll().execute();
      if (!session) throw new Error('no session');
      const of = { session_id: session.id, operator_id: session.operator_id };
      const account = { provider_id: 'house', issuer: ACCOUNT.issuer, subject: ACCOUNT.subject };
      const rest = { provider_sid: null, sealed_id_token: null };
      await database.transact((tx) => insertProviderSession(tx, { ...of, ...account, ...rest }));
      expect(await findProviderSession(database.read, session.id)).not.toBeNull();
      await database.transact((tx) =>
        tx.updateTable('provider_sessions').set({ subject: 'mallory' }).execute(),
      );
      return (await findProviderSession(database.read, session.id)) !== null;
    },
    refused: false,
  },
  {
    what: 'a set-up link on a server whose operators were deleted',
    table: 'setup_links',
    async attempt(scene) {
      await run(scene, 'DELETE FROM operator_sessions');
      await run(scene, 'DELETE FROM operators');
      const [link, nowMs] = ['B'.repeat(22), scene.app.platform.now()];
      await writeRaw(scene.database, 'setup_links', {
        ...{ id: 'x', secret_hash: sha256(link), created_at: nowMs, expires_at: nowMs + 1_000 },
      });
      return (await scene.send({ method: 'GET', url: `/setup/${link}` })).status;
    },
    refused: 404,
  },
];

const idOf = (username: string) => `(SELECT id FROM operators WHERE username = '${username}')`;

describe.each(SAMPLED_ENGINES)('a database writer, on $name', (engine) => {
  test('one inserted API token row signs no install', async () => {
    const scene = await openIncidentScene(engine);
    const { database, send, must, checkIn, app } = scene;
    const update = await scene.planned('npm');
    const admins = database.read.selectFrom('operators').select('id').where('role', '=', 'admin');
    const maker = await admins.executeTakeFirstOrThrow();
    const nowMs = app.platform.now();
    await writeRaw(database, 'api_tokens', {
      ...{ id: app.platform.newId(), operator_id: maker.id, label: 'mallory', secret_hash: sha256(SECRET) },
      ...{ role: 'admin', groups: null, scopes: null, created_by: 'admin', created_at: nowMs },
      ...{ expires_at: nowMs + 86_400_000, last_used_at: null, revoked_at: null },
    });
    const approved = await send({ method: 'POST', url: `/api/v1/updates/${update}/approve`, token: SECRET });
    const { commands } = Value.Parse(Commands, await must(checkIn()));
    const actions = commands.map(({ payload }) => {
      const text = Buffer.from(payload, 'base64').toString();
      return Value.Parse(Payload, JSON.parse(text)).action;
    });
    expect({ status: approved.status, actions }).toEqual({ status: 401, actions: [] });
    expect(await toldOf(scene)).toEqual(['api_tokens']);
  });

  test.each(ATTACKS)('gains nothing by $what, and leaves a critical event', async (attack) => {
    const scene = await openIncidentScene(engine);
    expect(await toldOf(scene)).toEqual([]);
    expect(await attack.attempt(scene)).toBe(attack.refused);
    expect(await toldOf(scene)).toContain(attack.table);
  });

  test('does not revive a revoked API token by restoring its row and seal: the journal lists it', async () => {
    const home = await createHousehold(engine);
    const server = await home.start();
    const token = await server.admin();
    const expires_at = new Date(home.clock.now() + 86_400_000).toISOString();
    const asked = { label: 'ci', role: 'viewer', expires_at };
    const made = (await server.call('POST', API_TOKENS, { token, body: asked })).body;
    const uses = async () => (await server.call('GET', '/api/v1/agents', { token: made.token })).status;
    expect(await uses()).toBe(200);
    const database = openDatabase(home.config, databaseOptions());
    const before = await database.read.selectFrom('api_tokens').selectAll().executeTakeFirstOrThrow();
    expect((await server.call('DELETE', `${API_TOKENS}/${made.id}`, { token })).status).toBe(204);
    await database.transact((tx) => sql`DELETE FROM api_tokens`.execute(tx));
    await writeRaw(database, 'api_tokens', before);
    await database.close();
    expect(await uses()).toBe(401);
  });

  test('is reported once an hour per row, however often it is used', async () => {
    const scene = await openIncidentScene(engine);
    const { token } = await makeToken(scene);
    await run(scene, "UPDATE api_tokens SET role = 'admin'");
    const count = async () => {
      await scene.app.settled();
      const query = scene.database.read.selectFrom('events').select('id');
      return (await query.where('type', '=', 'ROW_SEAL_BROKEN').execute()).length;
    };
    for (let i = 0; i < 3; i++) await reads(scene, token);
    expect(await count()).toBe(1);
    scene.app.platform.clock.advance(3_600_000);
    for (let i = 0; i < 3; i++) await reads(scene, token);
    expect(await count()).toBe(2);
    const lines = scene.app.platform.lines.filter((line) =>
      line.startsWith('[SECURITY] a row of the database'),
    );
    expect(lines.length).toBe(2);
    expect(lines[0]).toContain('table=api_tokens');
  });

  test('does not make a page of a list end early', async () => {
    const scene = await openIncidentScene(engine);
    for (const label of ['a', 'b', 'c', 'd']) await makeToken(scene, { label });
    await run(scene, "UPDATE api_tokens SET role = 'admin' WHERE label IN ('b', 'c')");
    const url = `${API_TOKENS}?limit=2`;
    const Page = Type.Object({
      items: Type.Array(Type.Object({ label: Type.String() })),
      next_cursor: nullable(Type.String()),
    });
    const page = Value.Parse(Page, await scene.must({ method: 'GET', url, token: scene.admin }));
    expect([page.items.map(({ label }) => label), page.next_cursor]).toEqual([['d', 'a'], null]);
  });
});
