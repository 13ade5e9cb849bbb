import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { narrativeOf } from '@tidegate/protocol/event-narratives';
import { AGENT_EVENT_TYPES, SECURITY_EVENT_TYPES, SYSTEM_EVENT_TYPES } from '@tidegate/protocol/event-types';
import { nullable } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { addToken } from './fleet-lock/manage-tokens.ts';
import type { Request } from './testing/app-clients.ts';
import { actionOf } from './testing/approvals-app.ts';
import { SAMPLED_ENGINES } from './testing/engines.ts';
import { type IncidentScene, openIncidentScene } from './testing/incident-scene.ts';
import { makeRow } from './testing/row-makers.ts';
import { createAuthenticator } from './testing/software-authenticator.ts';
import {
  BLACKOUT,
  CHANNEL,
  HOLD,
  notificationRule,
  REBOOT_ASK,
  SLOT_LIMITS,
  STANDING,
} from './testing/standing.ts';
import { writeRaw } from './testing/write-raw.ts';

/** One incident: its preparation, the one request that triggers it, and the event that it must leave. */
interface Incident {
  type: string;
  /** Distinguishes several incidents of one type. */
  what?: string;
  prepare: (scene: IncidentScene) => Promise<Request> | Request;
  status: number;
  severity: string;
  component: string;
  actor: string | null;
  /** Whether the event names the host. */
  host: boolean;
  /** Names of the members of the content. */
  content: readonly string[];
}

const AT = '2026-11-21T09:00:00Z';
const LATER = '2026-12-01T09:00:00Z';
const ORIGIN = {
  ...{ ecosystem: 'apt', key: 'a'.repeat(40), suites: ['Docker CE:bookworm'], rule: 'ask' },
  ...{ min_age_days: null, reason: 'test', ends_at: LATER },
};
const STATEMENT = {
  ...{ vulnerability: 'CVE-2024-1', ecosystem: 'npm', package: 'left-pad', distribution: null },
  ...{ versions: ['1.0.0'], scope: { kind: 'all' }, status: 'accepted', justification: null },
  ...{ text: 'test', ends_at: LATER },
};
const MISMATCH = ['endpoint', 'recorded_machine_id', 'reported_machine_id'];
const TOKENS = '/api/v1/admin/registration-tokens';
const API_TOKENS = '/api/v1/admin/api-tokens';
const API_TOKEN = ['created_by', 'expires_at', 'groups', 'label', 'role', 'scopes', 'token_id'];
const PASSKEYS = '/api/v1/auth/passkeys';
const PROVIDERS = '/api/v1/admin/identity-providers';
const PROVIDER = {
  ...{ id: 'house', name: 'House', issuer: 'https://login.example' },
  ...{ client_id: 'tidegate', client_secret: 'a secret' },
};
const DIVERGENCES = '/api/v1/artifacts/divergences';
const FLOOD = ['day', 'day_limit', 'examples', 'month', 'month_limit', 'newcomer', 'opponents', 'role'];
const Ids = Type.Object({ items: Type.Array(Type.Object({ id: Type.String() })) });
const Made = Type.Object({ id: Type.String() });
const Secret = Type.Object({ token: Type.String() });

/** An event that a host detected by itself (docs/protocol/events.md lists the five). */
function noticed(type: string): Incident {
  const event = { type, severity: 'error', message: 'noticed', at: AT, details: { check: 'bad_signature' } };
  return {
    ...{ type, what: 'noticed by the host', status: 202, severity: 'error', component: 'agent' },
    ...{ actor: 'agent', host: true, content: ['at', 'details', 'message'] },
    prepare: ({ asAgent }) => asAgent('/events', { events: [event] }),
  };
}

const INCIDENTS: Incident[] = [
  {
    ...{ type: 'MACHINE_ID_MISMATCH', what: 'at an ordinary request', status: 403, severity: 'warning' },
    ...{ component: 'agents', actor: 'agent', host: true, content: MISMATCH },
    prepare: ({ checkIn }) => ({ ...checkIn(), machineId: 'machine-2' }),
  },
  {
    ...{ type: 'MACHINE_ID_MISMATCH', what: 'at E1', status: 403, severity: 'warning' },
    ...{ component: 'agent-credentials', actor: 'agent', host: true, content: [...MISMATCH, 'token_class'] },
    prepare: ({ renewal, agent }) => ({ ...renewal(agent.refreshToken), machineId: 'machine-2' }),
  },
  {
    ...{ type: 'REFRESH_TOKEN_REUSE', status: 401, severity: 'critical', component: 'agent-credentials' },
    ...{ actor: 'agent', host: true },
    content: ['address', 'current_seq', 'family_id', 'last_seen', 'machine_id', 'presented_seq', 'reason'],
    async prepare({ renew, renewal, agent }) {
      await renew(await renew(agent.refreshToken));
      return renewal(agent.refreshToken);
    },
  },
  {
    ...{ type: 'REFRESH_GRACE_USED', status: 200, severity: 'info', component: 'agent-credentials' },
    ...{ actor: 'agent', host: true, content: ['child', 'family_id', 'seq'] },
    async prepare({ renew, renewal, agent }) {
      await renew(agent.refreshToken);
      return renewal(agent.refreshToken);
    },
  },
  {
    ...{ type: 'REFRESH_RESYNC', status: 201, severity: 'critical', component: 'restore', actor: 'admin' },
    ...{ host: false, content: ['act', 'hours', 'reason'] },
    prepare: ({ asAdmin }) => asAdmin('/api/v1/admin/resync', { hours: 1, reason: 'restored from a backup' }),
  },
  {
    ...{ type: 'MACHINE_REBOUND', status: 200, severity: 'warning', component: 'agents', actor: 'admin' },
    ...{ host: true, content: ['previous_machine_id', 'reason'] },
    prepare: ({ asAdmin, agent }) =>
      asAdmin(`/api/admin/agents/${agent.agentId}/rebind-machine-id`, { reason: 'new board' }),
  },
  ...(['check-in', 'renewal'] as const).map(
    (by): Incident => ({
      ...{ type: 'MACHINE_BOUND', what: `by ${by}`, status: 200, severity: 'info', component: 'agents' },
      ...{ actor: 'agent', host: true, content: ['by', 'machine_id'] },
      async prepare({ must, asAdmin, checkIn, renewal, agent }) {
        await must(asAdmin(`/api/admin/agents/${agent.agentId}/rebind-machine-id`, { reason: 'new board' }));
        return { ...(by === 'renewal' ? renewal(agent.refreshToken) : checkIn()), machineId: 'machine-2' };
      },
    }),
  ),
  {
    ...{ type: 'AGENT_ENROLLED', status: 201, severity: 'info', component: 'enrolment', actor: 'agent' },
    ...{
      host: false,
      content: ['again', 'group', 'hostname', 'machine_id', 'registration_token_id', 'tags'],
    },
    async prepare({ must, asAdmin }) {
      const { token } = Value.Parse(Secret, await must(asAdmin(TOKENS, { label: 'x' }), 201));
      const os = { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' };
      const body = { hostname: 'host-2', os, agent_version: '1.0.0' };
      return { method: 'POST', url: '/api/v1/agents/register', token, machineId: 'machine-2', body };
    },
  },
  {
    ...{ type: 'ENROLMENT_REFUSED', status: 409, severity: 'warning', component: 'enrolment' },
    ...{ actor: 'agent', host: true },
    content: ['host_group', 'hostname', 'machine_id', 'reason', 'registration_token_id', 'token_group'],
    async prepare({ must, asAdmin, agent }) {
      const { token } = Value.Parse(Secret, await must(asAdmin(TOKENS, { label: 'x', group: 'lab' }), 201));
      const os = { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' };
      const body = { hostname: 'host-1', os, agent_version: '1.0.0' };
      return { method: 'POST', url: '/api/v1/agents/register', token, machineId: agent.machineId, body };
    },
  },
  {
    ...{ type: 'AGENT_REVOKED', status: 200, severity: 'warning', component: 'agents', actor: 'admin' },
    ...{ host: true, content: ['act', 'family_id', 'reason'] },
    prepare: ({ asAdmin, agent }) => asAdmin(`/api/v1/agents/${agent.agentId}/revoke`, { reason: 'sold' }),
  },
  noticed('COMMAND_REFUSED'),
  noticed('PLAN_DRIFT'),
  noticed('ARTIFACT_MISMATCH'),
  noticed('CLONE_SUSPECTED'),
  noticed('AGENT_ERROR'),
  {
    ...{ type: 'COMMAND_REFUSED', what: 'by the server, of a row put in by hand', status: 200 },
    ...{ severity: 'critical', component: 'commands', actor: 'server', host: true },
    content: ['action', 'check', 'command_id', 'update_ids'],
    async prepare({ app, database, agent, checkIn, must }) {
      await must(checkIn());
      const nowMs = app.platform.now();
      const id = app.platform.newId();
      const times = { created_at: nowMs, not_before: nowMs, expires_at: nowMs + 1_000 };
      const row = { id, agent_id: agent.agentId, action: 'shell', params: '{}', status: 'pending' };
      await writeRaw(database, 'agent_commands', { ...row, ...times, created_by: 'mallory' });
      return checkIn();
    },
  },
  {
    ...{ type: 'CLONE_SUSPECTED', status: 200, severity: 'error', component: 'agents', actor: 'server' },
    ...{ host: true, content: ['evidence', 'sign'] },
    prepare: suspected,
  },
  {
    ...{ type: 'CLONE_DISMISSED', status: 200, severity: 'warning', component: 'agents', actor: 'admin' },
    ...{ host: true, content: ['accepted_addresses', 'reason'] },
    async prepare(scene) {
      await scene.must(await suspected(scene));
      return scene.asAdmin(`/api/v1/agents/${scene.agent.agentId}/dismiss-clone`, { reason: 'a snapshot' });
    },
  },
  {
    ...{ type: 'ARTIFACT_DIVERGENCE', status: 200, severity: 'critical', component: 'security' },
    ...{ actor: 'agent', host: true },
    content: ['algorithm', 'distribution', 'divergence_id', 'hashes', 'package', 'variant'],
    async prepare(scene) {
      const another = await scene.enrol('machine-2');
      await scene.must(sawArtifact(scene, 'a', another));
      return sawArtifact(scene, 'b');
    },
  },
  {
    ...{ type: 'ARTIFACT_DIVERGENCE_DECIDED', status: 200, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: [
      ...['accepted', 'actor', 'algorithm', 'distribution', 'divergence_id'],
      ...['package', 'reason', 'refused', 'variant'],
    ],
    async prepare(scene) {
      const another = await scene.enrol('machine-2');
      await scene.must(sawArtifact(scene, 'a', another));
      await scene.must(sawArtifact(scene, 'b'));
      const list = { method: 'GET', url: DIVERGENCES, token: scene.admin } as const;
      const { items } = Value.Parse(Ids, await scene.must(list));
      return scene.asAdmin(`${DIVERGENCES}/${items[0]?.id}/decide`, {
        accept: 'all',
        reason: 'both are ours',
      });
    },
  },
  {
    ...{ type: 'ARTIFACT_DIVERGENCE_UNDONE', status: 200, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'algorithm', 'distribution', 'divergence_id', 'package', 'reason', 'variant'],
    async prepare(scene) {
      const another = await scene.enrol('machine-2');
      await scene.must(sawArtifact(scene, 'a', another));
      await scene.must(sawArtifact(scene, 'b'));
      const list = { method: 'GET', url: DIVERGENCES, token: scene.admin } as const;
      const { items } = Value.Parse(Ids, await scene.must(list));
      const url = `${DIVERGENCES}/${items[0]?.id}`;
      await scene.must(scene.asAdmin(`${url}/decide`, { accept: 'all', reason: 'both are ours' }));
      return scene.asAdmin(`${url}/undo`, { reason: 'they are not' });
    },
  },
  {
    ...{ type: 'ARTIFACT_LEDGER_FLOOD', status: 200, severity: 'critical', component: 'security' },
    ...{ actor: 'agent', host: true, content: FLOOD },
    prepare: contradictMuch,
  },
  {
    ...{ type: 'ARTIFACT_HOST_TRUSTED', status: 204, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: true, content: ['actor', 'reason'] },
    async prepare(scene) {
      await scene.must(await contradictMuch(scene));
      const url = `/api/v1/artifacts/hosts-set-aside/${scene.agent.agentId}/trust`;
      return scene.asAdmin(url, { reason: 'its mirror builds anew' });
    },
  },
  {
    ...{ type: 'SIGNING_KEY_ADDED', status: 201, severity: 'warning', component: 'signing_keys' },
    ...{ actor: 'admin', host: false, content: ['awaits_root', 'key_id', 'public_key_hex', 'version'] },
    prepare: ({ asAdmin }) => asAdmin('/api/v1/admin/signing-keys'),
  },
  {
    ...{ type: 'SIGNING_KEY_REVOKED', status: 200, severity: 'warning', component: 'signing_keys' },
    ...{ actor: 'admin', host: false, content: ['key_id', 'version'] },
    async prepare({ must, asAdmin }) {
      await must(asAdmin('/api/v1/admin/signing-keys'), 201);
      return asAdmin('/api/v1/admin/signing-keys/2/revoke');
    },
  },
  {
    ...{ type: 'LOGIN_FAILED', status: 401, severity: 'warning', component: 'operators', actor: null },
    ...{ host: false, content: ['address', 'operator_id', 'stage', 'username'] },
    prepare: () => logIn('not the password of anybody'),
  },
  {
    ...{ type: 'LOGIN_SUCCEEDED', status: 200, severity: 'info', component: 'operators', actor: 'viewer' },
    ...{ host: false, content: ['address', 'method', 'operator_id', 'username'] },
    prepare: () => logIn('a long enough password'),
  },
  {
    ...{ type: 'SECOND_FACTOR_ASKED', status: 401, severity: 'info', component: 'operators' },
    ...{ actor: 'viewer', host: false, content: ['address', 'operator_id', 'username'] },
    async prepare({ enrolTotp, viewer }) {
      await enrolTotp(viewer);
      return logIn('a long enough password');
    },
  },
  ...(['wrong', 'right'] as const).map(
    (which): Incident => ({
      type: which === 'right' ? 'STEP_UP_SUCCEEDED' : 'STEP_UP_FAILED',
      ...(which === 'right' ? { status: 200, severity: 'info' } : { status: 403, severity: 'warning' }),
      ...{ component: 'operators', actor: 'admin', host: false },
      content: ['address', 'method', 'operator_id', 'username'],
      async prepare({ enrolTotp, asAdmin, admin }) {
        const { code } = await enrolTotp(admin);
        return asAdmin('/api/v1/auth/step-up', { totp: which === 'right' ? code() : '000000' });
      },
    }),
  ),
  {
    ...{ type: 'RECOVERY_CODE_USED', status: 200, severity: 'warning', component: 'operators' },
    ...{ actor: 'admin', host: false, content: ['left', 'operator_id', 'username'] },
    async prepare({ enrolTotp, asAdmin, admin }) {
      const { recoveryCodes } = await enrolTotp(admin);
      return asAdmin('/api/v1/auth/step-up', { recovery_code: recoveryCodes[0] ?? '' });
    },
  },
  {
    ...{ type: 'FACTOR_ADDED', status: 200, severity: 'info', component: 'operators', actor: 'admin' },
    ...{ host: false, content: ['address', 'factor', 'operator_id', 'username'] },
    async prepare({ beginTotp, asAdmin, admin }) {
      const { code } = await beginTotp(admin);
      return asAdmin('/api/v1/auth/totp/confirm', { code: code() });
    },
  },
  {
    ...{ type: 'FACTOR_ADDED', what: 'a passkey', status: 201, severity: 'info', component: 'operators' },
    ...{
      actor: 'admin',
      host: false,
      content: ['address', 'factor', 'name', 'operator_id', 'passkey_id', 'username'],
    },
    async prepare({ must, asAdmin }) {
      const begun = await must(asAdmin(`${PASSKEYS}/options`));
      return asAdmin(PASSKEYS, { ...createAuthenticator().create(begun), name: 'laptop' });
    },
  },
  {
    ...{ type: 'FACTOR_REMOVED', status: 204, severity: 'warning', component: 'operators', actor: 'admin' },
    ...{ host: false, content: ['address', 'factor', 'operator_id', 'username'] },
    async prepare({ enrolTotp, admin }) {
      await enrolTotp(admin);
      return { method: 'DELETE', url: '/api/v1/auth/totp', token: admin };
    },
  },
  {
    ...{ type: 'FACTORS_RESET', status: 204, severity: 'warning', component: 'operators', actor: 'admin' },
    ...{ host: false, content: ['operator_id', 'passkeys', 'totp', 'username'] },
    async prepare({ enrolTotp, must, viewer, admin }) {
      await enrolTotp(viewer);
      const session = await must({ method: 'GET', url: '/api/v1/auth/session', token: viewer });
      const { id } = Value.Parse(Type.Object({ operator: Made }), session).operator;
      return { method: 'DELETE', url: `/api/v1/admin/operators/${id}/factors`, token: admin };
    },
  },
  {
    ...{ type: 'PASSKEY_CLONE_SUSPECTED', status: 403, severity: 'error', component: 'operators' },
    ...{ actor: null, host: false },
    content: ['name', 'operator_id', 'passkey_id', 'presented_count', 'recorded_count'],
    async prepare({ must, asAdmin }) {
      const authenticator = createAuthenticator();
      const made = authenticator.create(await must(asAdmin(`${PASSKEYS}/options`)));
      await must(asAdmin(PASSKEYS, { ...made, name: 'laptop' }), 201);
      const begun = await must(asAdmin('/api/v1/auth/step-up/options'));
      return asAdmin('/api/v1/auth/step-up', authenticator.get(begun, { count: 0 }));
    },
  },
  {
    ...{ type: 'SESSION_REVOKED', status: 204, severity: 'info', component: 'operators', actor: 'admin' },
    ...{ host: false, content: ['kept_session_id', 'operator_id', 'sessions', 'username'] },
    prepare: ({ admin }) => ({ method: 'DELETE', url: '/api/v1/auth/sessions', token: admin }),
  },
  {
    ...{ type: 'SESSION_REVOKED', what: 'of another', status: 204, severity: 'info' },
    ...{ component: 'operators', actor: 'viewer', host: false },
    content: ['operator_id', 'session_id', 'sessions', 'username'],
    async prepare({ must, viewer }) {
      const list = { method: 'GET', url: '/api/v1/auth/sessions', token: viewer } as const;
      const { items } = Value.Parse(Ids, await must(list));
      return { method: 'DELETE', url: `/api/v1/auth/sessions/${items[0]?.id}`, token: viewer };
    },
  },
  {
    ...{ type: 'OPERATOR_CHANGED', status: 201, severity: 'warning', component: 'operators' },
    ...{ actor: 'admin', host: false, content: ['change', 'groups', 'operator_id', 'role', 'username'] },
    prepare: ({ asAdmin }) =>
      asAdmin('/api/v1/admin/operators', {
        ...{ username: 'newcomer', password: 'a long enough password', role: 'viewer' },
      }),
  },
  {
    ...{ type: 'IDENTITY_PROVIDER_CHANGED', status: 201, severity: 'warning' },
    ...{ component: 'identity-providers', actor: 'admin', host: false },
    content: [
      ...['change', 'client_id', 'creates_operators', 'default_grant', 'enabled', 'factor_values'],
      ...['group_claim', 'issuer', 'mapping', 'name', 'provider'],
    ],
    prepare: ({ asAdmin }) => asAdmin(PROVIDERS, PROVIDER),
  },
  {
    ...{ type: 'IDENTITY_CHANGED', status: 201, severity: 'warning', component: 'operators' },
    ...{ actor: 'admin', host: false },
    content: ['change', 'issuer', 'operator_id', 'provider', 'subject', 'username'],
    async prepare({ asAdmin, must }) {
      await must(asAdmin(PROVIDERS, PROVIDER), 201);
      const newcomer = { username: 'newcomer', password: 'a long enough password', role: 'viewer' };
      const { id } = Value.Parse(Made, await must(asAdmin('/api/v1/admin/operators', newcomer), 201));
      return asAdmin(`/api/v1/admin/operators/${id}/identities`, { provider_id: 'house', subject: 'x' });
    },
  },
  {
    ...{ type: 'HOST_GROUP_CHANGED', status: 200, severity: 'info', component: 'agents' },
    ...{ actor: 'admin', host: true, content: ['after', 'before'] },
    prepare: ({ asAdmin, agent }) =>
      asAdmin('/api/v1/agents/group', { agent_ids: [agent.agentId], group: 'web' }),
  },
  {
    ...{ type: 'HOST_TAGS_CHANGED', status: 200, severity: 'info', component: 'agents' },
    ...{ actor: 'admin', host: true, content: ['after', 'before'] },
    prepare: ({ asAdmin, agent }) =>
      asAdmin('/api/v1/agents/tags', { agent_ids: [agent.agentId], set: ['env=prod'], remove: [] }),
  },
  {
    ...{ type: 'API_TOKEN_CREATED', status: 201, severity: 'warning', component: 'api-tokens' },
    ...{ actor: 'admin', host: false, content: API_TOKEN },
    prepare: ({ asAdmin }) => asAdmin(API_TOKENS, { label: 'ci', role: 'viewer', expires_at: LATER }),
  },
  {
    ...{ type: 'API_TOKEN_REVOKED', status: 204, severity: 'warning', component: 'api-tokens' },
    ...{ actor: 'admin', host: false, content: API_TOKEN },
    async prepare({ must, asAdmin }) {
      const body = { label: 'ci', role: 'viewer', expires_at: LATER };
      const { id } = Value.Parse(Made, await must(asAdmin(API_TOKENS, body), 201));
      return asAdmin(`${API_TOKENS}/${id}`, undefined, 'DELETE');
    },
  },
  {
    ...{ type: 'REGISTRATION_TOKEN_CHANGED', status: 201, severity: 'info', component: 'enrolment' },
    ...{ actor: 'admin', host: false },
    content: ['change', 'expires_at', 'group', 'id', 'label', 'seats', 'seats_used', 'tags'],
    prepare: ({ asAdmin }) => asAdmin(TOKENS, { label: 'rack 4' }),
  },
  {
    ...{ type: 'RATE_LIMITS_CHANGED', status: 200, severity: 'warning', component: 'rate_limits' },
    ...{ actor: 'admin', host: false, content: ['classes'] },
    prepare: ({ asAdmin }) =>
      asAdmin('/api/v1/admin/rate-limits', { classes: { login: { requests: 77 } } }, 'PUT'),
  },
  {
    ...{ type: 'NOTIFICATION_CHANNEL_CHANGED', status: 201, severity: 'warning', component: 'notifications' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'change', 'channel_id', 'is_enabled', 'kind', 'name'],
    prepare: ({ asAdmin }) => asAdmin('/api/v1/notifications/channels', CHANNEL),
  },
  {
    ...{ type: 'NOTIFICATION_RULE_CHANGED', status: 201, severity: 'warning', component: 'notifications' },
    ...{ actor: 'admin', host: false },
    content: [
      ...['actor', 'change', 'channel_id', 'conditions', 'is_enabled', 'mode', 'name'],
      ...['quiet_hours', 'rule_id'],
    ],
    async prepare({ must, asAdmin }) {
      const channel = await must(asAdmin('/api/v1/notifications/channels', CHANNEL), 201);
      const { id } = Value.Parse(Type.Object({ id: Type.String() }), channel);
      return asAdmin('/api/v1/notifications/rules', notificationRule(id));
    },
  },
  {
    ...{ type: 'supply_chain_override', status: 200, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: true, content: ['actor', 'cause', 'package', 'reason', 'update_id'] },
    prepare: async (scene) =>
      scene.asAdmin(`/api/v1/updates/${await scene.planned('apt')}/approve`, {
        ...{ override_supply_chain: true, override_reason: 'read by hand' },
      }),
  },
  {
    ...{ type: 'approval_blocked', status: 409, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: true },
    content: [
      ...['actor', 'blocked_by', 'counts', 'decision', 'fixes', 'introduces', 'package', 'reason', 'stays'],
      ...['update_id', 'verdict'],
    ],
    prepare: async (scene) => scene.asAdmin(`/api/v1/updates/${await scene.planned('apt')}/approve`),
  },
  {
    ...{ type: 'bulk_approval_asked', status: 200, severity: 'info', component: 'approvals' },
    ...{ actor: 'admin', host: false, content: ['actor', 'filter', 'update_count', 'updates'] },
    prepare: async (scene) =>
      scene.asAdmin('/api/v1/updates/approve', { update_ids: [await scene.planned('npm')] }),
  },
  {
    ...{ type: 'bulk_approval_blocked', status: 200, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: false, content: ['actor', 'blocked', 'count'] },
    prepare: async (scene) =>
      scene.asAdmin('/api/v1/updates/approve', { update_ids: [await scene.planned('apt')] }),
  },
  {
    ...{ type: 'age_exception_added', status: 201, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'exception_id', 'expires_at', 'package', 'reason'],
    prepare: ({ asAdmin }) =>
      asAdmin('/api/v1/admin/age-exceptions', {
        ...{ ecosystem: 'npm', name: 'left-pad', version: '1.0.0', reason: 'ours', expires_at: LATER },
      }),
  },
  {
    ...{ type: 'vulnerability_policy_changed', status: 200, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: false, content: ['actor', 'after', 'before', 'was_default'] },
    prepare: ({ admin }) => ({
      ...{ method: 'PUT', url: '/api/v1/admin/vulnerability-policy', token: admin },
      body: { policy: 'introduced' },
    }),
  },
  {
    ...{ type: 'age_exception_ended', status: 204, severity: 'info', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'exception_id', 'package'],
    async prepare({ must, asAdmin }) {
      const url = '/api/v1/admin/age-exceptions';
      const body = {
        ecosystem: 'npm',
        name: 'left-pad',
        version: '1.0.0',
        reason: 'ours',
        expires_at: LATER,
      };
      const { id } = Value.Parse(Made, await must(asAdmin(url, body), 201));
      const { body: _, ...bare } = asAdmin(`${url}/${id}`);
      return { ...bare, method: 'DELETE' };
    },
  },
  {
    ...{ type: 'vex_statement_added', status: 201, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: [
      ...['actor', 'ends_at', 'package', 'scope', 'sha256', 'statement_id', 'status', 'text', 'versions'],
      'vulnerability',
    ],
    prepare: ({ asAdmin }) => asAdmin('/api/v1/admin/vex-statements', STATEMENT),
  },
  {
    ...{ type: 'vex_statement_revoked', status: 204, severity: 'info', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'package', 'sha256', 'statement_id', 'status', 'vulnerability'],
    async prepare({ must, asAdmin }) {
      const url = '/api/v1/admin/vex-statements';
      const { id } = Value.Parse(Made, await must(asAdmin(url, STATEMENT), 201));
      const { body: _, ...bare } = asAdmin(`${url}/${id}`);
      return { ...bare, method: 'DELETE' };
    },
  },
  {
    ...{ type: 'origin_registered', status: 201, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: [
      ...['actor', 'ecosystem', 'ends_at', 'key', 'min_age_days', 'origin_id', 'reason', 'rule', 'sha256'],
      'suites',
    ],
    prepare: ({ asAdmin }) => asAdmin('/api/v1/admin/origins', ORIGIN),
  },
  {
    ...{ type: 'origin_revoked', status: 204, severity: 'info', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'ecosystem', 'key', 'min_age_days', 'origin_id', 'rule', 'sha256', 'suites'],
    async prepare({ must, asAdmin }) {
      const url = '/api/v1/admin/origins';
      const { id } = Value.Parse(Made, await must(asAdmin(url, ORIGIN), 201));
      const { body: _, ...bare } = asAdmin(`${url}/${id}`);
      return { ...bare, method: 'DELETE' };
    },
  },
  {
    ...{ type: 'policy_published', status: 201, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: [
      ...[
        'actor',
        'author',
        'ends_at',
        'name',
        'policy_id',
        'replaced',
        'scope',
        'sha256',
        'terms',
        'text',
        'version',
        'windows',
      ],
    ],
    prepare: ({ asAdmin }) => asAdmin('/api/v1/policies', STANDING),
  },
  {
    ...{ type: 'blackout_created', status: 201, severity: 'info', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'blackout_id', 'name', 'reason', 'scope', 'times'],
    prepare: ({ asAdmin }) => asAdmin('/api/v1/blackouts', BLACKOUT),
  },
  {
    ...{ type: 'blackout_ended', status: 200, severity: 'warning', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'blackout_id', 'name', 'reason', 'scope', 'times'],
    async prepare({ must, asAdmin }) {
      const url = '/api/v1/blackouts';
      const { id } = Value.Parse(Made, await must(asAdmin(url, BLACKOUT), 201));
      return asAdmin(`${url}/${id}/end`, { reason: 'test' });
    },
  },
  ...(
    [
      ['halted', 'halt', ['hosts', 'reason']],
      ['cancelled', 'cancel', ['reason']],
      ['resumed', 'resume', ['excused', 'reason']],
      ['expedited', 'emergency', ['reason']],
      ['ring_approved', 'approve', []],
    ] as const
  ).map(
    ([type, act, more]): Incident => ({
      ...{ type: `rollout_${type}`, status: 200, component: 'rollouts', actor: 'admin', host: false },
      severity: act === 'approve' ? 'info' : 'warning',
      content: ['actor', ...more, 'policy', 'policy_id', 'ring', 'rollout_id'].toSorted(),
      async prepare({ app, must, asAdmin }) {
        const id = await makeRow(app, { kind: 'rollout', operatorId: '' });
        const url = `/api/v1/rollouts/${id}`;
        if (act === 'resume') await must(asAdmin(`${url}/halt`, { reason: 'test' }));
        return asAdmin(`${url}/${act}`, act === 'approve' ? { ring: 0 } : { reason: 'test' });
      },
    }),
  ),
  {
    ...{ type: 'hold_placed', status: 201, severity: 'info', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'ecosystems', 'ends_at', 'hold_id', 'packages', 'reason', 'scope'],
    prepare: ({ asAdmin }) => asAdmin('/api/v1/holds', HOLD),
  },
  {
    ...{ type: 'hold_released', status: 204, severity: 'info', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'ecosystems', 'ends_at', 'hold_id', 'packages', 'reason', 'scope'],
    async prepare({ must, asAdmin }) {
      const url = '/api/v1/holds';
      const { id } = Value.Parse(Made, await must(asAdmin(url, HOLD), 201));
      const { body: _, ...bare } = asAdmin(`${url}/${id}`);
      return { ...bare, method: 'DELETE' };
    },
  },
  {
    ...{ type: 'reboots_asked', status: 200, severity: 'warning', component: 'reboots' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'deadline', 'hosts', 'kind', 'only_needed', 'reason', 'scope'],
    async prepare({ asAdmin, must, checkIn }) {
      await must(checkIn());
      return asAdmin('/api/v1/reboots', { ...REBOOT_ASK, only_needed: false });
    },
  },
  {
    ...{ type: 'reboot_limits_changed', status: 204, severity: 'warning', component: 'reboots' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'before', 'group', 'halt_after', 'max_at_once', 'min_healthy'],
    prepare: ({ asAdmin }) => asAdmin('/api/v1/reboot-slots', SLOT_LIMITS, 'PUT'),
  },
  {
    ...{ type: 'reboot_slot_released', status: 204, severity: 'warning', component: 'reboots' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'detail', 'group', 'reason'],
    async prepare({ app, agent: { agentId: agent_id }, database, asAdmin }) {
      const id = app.platform.newId();
      const of = { id, agent_id, group_name: '', command_id: id, boot_id: 'boot-1' };
      await writeRaw(database, 'reboot_slots', { ...of, state: 'failed', taken_at: 1, ends_at: 1 });
      return asAdmin(`/api/v1/reboot-slots/${id}/release`, { reason: 'test' });
    },
  },
  {
    ...{ type: 'fleet_lock_changed', status: 200, severity: 'info', component: 'reboots' },
    ...{ actor: 'fleet-lock', host: false },
    content: ['change', 'client', 'group', 'token_id'],
    async prepare({ app, database }) {
      const group = 'web';
      const made = await database.transact((tx) => addToken(tx, app.platform, { group, by: 'cli' }));
      if (!made.ok) throw new Error(made.why);
      const basic = Buffer.from(`${made.id}:${made.secret}`).toString('base64');
      return {
        ...{ method: 'POST', url: '/v1/pre-reboot' },
        body: { client_params: { id: 'core-1', group } },
        headers: { authorization: `Basic ${basic}`, 'fleet-lock-protocol': 'true' },
      };
    },
  },
  {
    ...{ type: 'mitigation_noted', status: 200, severity: 'info', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'distribution', 'hook', 'hook_before', 'note', 'package', 'vulnerability'],
    async prepare({ app, asAdmin }) {
      const id = await makeRow(app, { kind: 'vulnerability', operatorId: '' });
      const body = { mitigation: { hook: 'web-firewall', note: 'test' } };
      return asAdmin(`/api/v1/unfixed/${id}/mitigation`, body, 'PUT');
    },
  },
  {
    ...{ type: 'policy_revoked', status: 204, severity: 'info', component: 'security' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'author', 'name', 'policy_id', 'sha256', 'version'],
    async prepare({ must, asAdmin }) {
      const url = '/api/v1/policies';
      const { id } = Value.Parse(Made, await must(asAdmin(url, STANDING), 201));
      const { body: _, ...bare } = asAdmin(`${url}/${id}`);
      return { ...bare, method: 'DELETE' };
    },
  },
  {
    ...{ type: 'rollback_requested', status: 200, severity: 'warning', component: 'approvals' },
    ...{ actor: 'admin', host: true },
    content: [...['actor', 'command_id', 'reason', 'rollback_id', 'token_id', 'update_count', 'updates']],
    async prepare({ planned, must, asAdmin, delivered, asAgent }) {
      const updateId = await planned('apt');
      const override = { override_supply_chain: true, override_reason: 'no source of advisories here' };
      await must(asAdmin(`/api/v1/updates/${updateId}/approve`, override));
      await must(asAgent(`/commands/${await delivered(updateId)}/result`, { status: 'success' }));
      return asAdmin('/api/v1/updates/rollback', { update_ids: [updateId], reason: 'test' });
    },
  },
  {
    ...{ type: 'repair_ordered', status: 202, severity: 'warning', component: 'commands' },
    ...{ actor: 'admin', host: true },
    content: ['actor', 'command_id', 'package_count', 'packages', 'sha256'],
    prepare: (scene) => repairable(scene),
  },
  {
    ...{ type: 'repair_ended', status: 200, severity: 'info', component: 'commands' },
    ...{ actor: 'agent', host: true },
    content: ['command_id', 'reason', 'status'],
    async prepare(scene) {
      const queued = await scene.must(await repairable(scene), 202);
      const { command_id: id } = Value.Parse(Type.Object({ command_id: Type.String() }), queued);
      await scene.must(scene.checkIn());
      return scene.asAgent(`/commands/${id}/result`, { status: 'success' });
    },
  },
  {
    ...{ type: 'probes_red', status: 200, severity: 'warning', component: 'probes' },
    ...{ actor: 'agent', host: true, content: ['count', 'probes'] },
    prepare: ({ asAgent }) => asAgent('/probes', { at: AT, probes: [{ name: 'web', state: 'red' }] }, 'PUT'),
  },
  {
    ...{ type: 'probes_recovered', status: 200, severity: 'info', component: 'probes' },
    ...{ actor: 'agent', host: true, content: [] },
    async prepare({ app, must, asAgent }) {
      await must(asAgent('/probes', { at: AT, probes: [{ name: 'web', state: 'red' }] }, 'PUT'));
      app.platform.clock.advance(10 * 60_000);
      return asAgent('/probes', { at: AT, probes: [{ name: 'web', state: 'green' }] }, 'PUT');
    },
  },
  {
    ...{ type: 'shared_view_changed', status: 201, severity: 'info', component: 'views' },
    ...{ actor: 'admin', host: false },
    content: ['actor', 'change', 'name', 'page', 'query', 'view_id'],
    prepare: ({ asAdmin }) =>
      asAdmin('/api/v1/views', {
        ...{ name: 'Exploited', page: 'updates', query: { exploited: 'true' }, shared: true },
      }),
  },
  {
    ...{ type: 'update_approved', status: 200, component: 'approvals', actor: 'admin', host: true },
    // Its closure is unchecked.
    severity: 'warning',
    content: [
      ...['actor', 'approved_by', 'counts', 'decision', 'override', 'token_id', 'unchecked'],
      ...['update_count', 'updates', 'verdict'],
    ],
    prepare: async (scene) => scene.asAdmin(`/api/v1/updates/${await scene.planned('npm')}/approve`),
  },
  ended('success', {
    ...{ type: 'update_installed', severity: 'info', content: ['command_id', 'update_count', 'updates'] },
  }),
  ended('failed', {
    ...{ type: 'update_failed', severity: 'error' },
    content: ['command_id', 'reason', 'status', 'update_count', 'updates'],
  }),
];

/** Not raised by the requests above: a separate test covers it. */
const ELSEWHERE = [
  'client_error', // not part of the log
  'OUTSIDER_BUDGET_SPENT',
  'LOGINS_SLOWED',
  'RESTORE_DETECTED',
  'ROWS_SEALED',
  'ROW_SEAL_BROKEN',
  'SIGNING_ROOT_CHANGED',
  'advisories_replaced',
  'advisories_stale',
  'agent_offline',
  'approval_countersigned',
  'events_pruned',
  'events_missed',
  'vex_statement_expired',
  'origin_expired',
  'policy_expired',
  'policy_window_ahead',
  'hold_expired',
  'fix_appeared',
  'exploited_fix_waits',
  'notification_channel_failing',
  'notification_channel_recovered',
  'FLEET_LOCK_TOKEN_CHANGED',
  'reboot_ended',
  'reboots_halted',
  'policy_suspended',
  'rollout_started',
  'rollout_ring_entered',
  'rollout_finished',
];

async function suspected({ app, must, checkIn }: IncidentScene): Promise<Request> {
  for (const boot_id of ['boot-a', 'boot-b']) {
    await must(checkIn({ boot_id }));
    app.platform.clock.advance(60_000);
  }
  return checkIn({ boot_id: 'boot-a' });
}

/** A host reports one package with a hash made of this digit. */
function sawArtifact(
  { asAgent, agent }: IncidentScene,
  digit: string,
  of = agent,
  names: readonly string[] = ['curl'],
): Request {
  const artifact = { filename: 'curl.deb', url: 'https://mirror.example/curl.deb', size_bytes: 1 };
  const plan = {
    ...{ resolved_at: AT },
    actions: names.map((name) => ({
      ...actionOf({ name, version: '8.0-1' }),
      artifact: { ...artifact, sha256: digit.repeat(64) },
    })),
  };
  const update = { name: names[0] ?? '', current_version: '7.0-1', available_version: '8.0-1', plan };
  const report = { scanned_at: AT, complete: true, updates: [update], packages: [] };
  return asAgent('/inventory/apt', report, 'PUT', of);
}

/** The host contradicts another one about more packages than one host may. */
async function contradictMuch(scene: IncidentScene): Promise<Request> {
  const another = await scene.enrol('machine-2');
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  await scene.must(sawArtifact(scene, 'a', another, names));
  return sawArtifact(scene, 'b', scene.agent, names);
}

function logIn(password: string): Request {
  return { method: 'POST', url: '/api/v1/auth/login', body: { username: 'viewer', password } };
}

/** A host's result of an install command. */
function ended(
  status: 'success' | 'failed',
  event: Pick<Incident, 'type' | 'severity' | 'content'>,
): Incident {
  return {
    ...{ ...event, status: 200, component: 'commands', actor: 'agent', host: true },
    async prepare({ planned, must, asAdmin, delivered, asAgent }) {
      const updateId = await planned('npm');
      await must(asAdmin(`/api/v1/updates/${updateId}/approve`));
      return asAgent(`/commands/${await delivered(updateId)}/result`, { status });
    },
  };
}

const EventPage = Type.Object({
  total: Type.Integer(),
  items: Type.Array(
    Type.Object({
      ...{ type: Type.String(), severity: Type.String(), component: Type.String() },
      agent_id: nullable(Type.String()),
      actor: nullable(Type.String()),
      content: Type.Record(Type.String(), Type.Unknown()),
    }),
  ),
});

describe.each(SAMPLED_ENGINES)('every incident leaves its event, on $name', (engine) => {
  test.each(INCIDENTS.map((incident) => ({ ...incident, name: `${incident.type} ${incident.what ?? ''}` })))(
    '$name: exactly one, in the transaction of the act',
    async (incident) => {
      const scene = await openIncidentScene(engine);
      const { admin, agent, send, must } = scene;
      const events = async () => {
        const url = `/api/v1/events?type=${incident.type}`;
        return Value.Parse(EventPage, await must({ method: 'GET', url, token: admin }));
      };
      const request = await incident.prepare(scene);
      const { total: before } = await events();

      // If its event cannot be written, the act must not happen either.
      const lift = await scene.refuseEvents(incident.type);
      const untouched = await scene.dump();
      const refused = await send(request);
      expect(refused.status, refused.text).toBeGreaterThanOrEqual(500);
      expect(await scene.dump()).toEqual(untouched);
      await lift();

      const answer = await send(request);
      expect([answer.status, answer.text]).toEqual([incident.status, answer.text]);
      const { total, items } = await events();
      expect(total).toBe(before + 1);
      const [event] = items;
      expect(event).toMatchObject({
        ...{ type: incident.type, severity: incident.severity },
        ...{ component: incident.component, actor: incident.actor },
      });
      if (incident.host) expect(event?.agent_id).toBe(agent.agentId);
      expect(Object.keys(event?.content ?? {}).toSorted()).toEqual(incident.content);
      const told = event ? narrativeOf(event) : '';
      expect([told, changedValues(event?.content).filter((value) => !told.includes(value))]).toEqual([
        told,
        [],
      ]);
      // People read the sentence first: no code of the server stands in it.
      expect(told).not.toMatch(/\b[a-z]+_[a-z_]+\b/);
      const text = JSON.stringify(event);
      const secrets = [agent.accessToken, agent.refreshToken, agent.registrationToken, admin];
      for (const secret of [...secrets, 'a long enough password', 'not the password']) {
        expect(text).not.toContain(secret);
      }
    },
  );
});

/** Texts and numbers that a change says to have been something else before, both of them: its sentence names each. */
function changedValues(content: unknown): string[] {
  const found: string[] = [];
  const both = (before: unknown, after: unknown): void => {
    if (isDeepStrictEqual(before, after)) return;
    if (isPlain(before) && isPlain(after))
      for (const name of Object.keys(before)) both(before[name], after[name]);
    else
      for (const value of [before, after].flat()) {
        if (typeof value === 'number') found.push(value.toLocaleString('en'));
        if (typeof value === 'string') found.push(value);
      }
  };
  const walk = (value: unknown): void => {
    if (!isPlain(value)) return;
    if ('before' in value) both(value.before, 'after' in value ? value.after : value);
    else for (const member of Object.values(value)) walk(member);
  };
  walk(content);
  return found;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The order of a repair that the host offers: to complete the database of its packages. */
async function repairable({ agent, admin, must, asAgent, asAdmin }: IncidentScene): Promise<Request> {
  const trouble = { reason: 'transaction_interrupted', detail: 'dpkg was interrupted' };
  const rest = { broken: [], more_broken: 0, left_files: [], more_left_files: 0, unread_folders: 0 };
  const condition = { trouble, ...rest, repair: { packages: [] } };
  const report = { scanned_at: '2026-11-21T09:00:00Z', complete: false, packages: [], updates: [] };
  await must(asAgent('/inventory/apt', { ...report, condition }, 'PUT'));
  const url = `/api/v1/agents/${agent.agentId}`;
  const shown = await must({ method: 'GET', url: `${url}/inventory`, token: admin });
  const Shown = Type.Object({ reports: Type.Array(Type.Object({ repair_sha256: Type.String() })) });
  return asAdmin(`${url}/repair`, { repair_sha256: Value.Parse(Shown, shown).reports[0]?.repair_sha256 });
}

test('every event type is raised by some act', () => {
  const types = [...SECURITY_EVENT_TYPES, ...SYSTEM_EVENT_TYPES];
  const raised = INCIDENTS.map(({ type }) => type);
  expect(types.filter((type) => ![...raised, ...ELSEWHERE].includes(type))).toEqual([]);
  const sources = readSources(fileURLToPath(new URL('.', import.meta.url)));
  const raises = (type: string) => sources.some((text) => text.includes(`'${type}'`));
  expect([...raised, ...ELSEWHERE].filter((type) => !raises(type) && !AGENTS.includes(type))).toEqual([]);
});

/** Types reported only by hosts: the server's sources do not contain them. */
const AGENTS: readonly string[] = AGENT_EVENT_TYPES;

/** The server's sources, without tests. */
function readSources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.startsWith('testing/'))
    .map((path) => readFileSync(join(folder, path), 'utf8'));
}
