import { OPERATORS, REGISTRATION_TOKENS } from '@tidegate/terminal/lists';
import { atMinute, words } from '@tidegate/terminal/words';
import { change, list, type Shown, show, table } from '../act.ts';
import type { Group } from '../group.ts';
import { IDENTITIES } from './identity-providers.ts';

export const TOKENS: Group = {
  name: 'tokens',
  summary: 'registration tokens, with which hosts enrol: list, show, add, revoke',
  about:
    'add prints the secret once, alone on the standard output. Revoking a token keeps the hosts that enrolled with it.',
  acts: [
    list('GET /api/v1/admin/registration-tokens', { act: 'list', columns: REGISTRATION_TOKENS }),
    show('GET /api/v1/admin/registration-tokens/{id}', { act: 'show' }),
    change('POST /api/v1/admin/registration-tokens', {
      act: 'add',
      about: {
        group: 'the group that those hosts get (none)',
        tag: 'a tag that those hosts get, such as env=prod (none)',
        'expires-at': 'at most 90 days from now (24 hours from now)',
      },
      says: ({ id, seats, expires_at: until, token }, { note }) => {
        note(`Registration token ${id} for ${seats} host(s), until ${atMinute(until)}. Shown once:`);
        return token;
      },
    }),
    change('DELETE /api/v1/admin/registration-tokens/{id}', {
      act: 'revoke',
      says: 'The registration token is revoked: no host can enrol with it.',
    }),
  ],
};

export const AGENT_PACKAGES: Group = {
  name: 'agent-packages',
  summary: 'the packages of the agent that hosts can download from the server',
  acts: [
    table('GET /api/v1/admin/agent-packages', {
      act: '',
      items: ({ files }) => files,
      columns: {
        FILE: ({ path }) => path,
        MB: ({ bytes }) => Math.round(bytes / 1e6),
        'SHA-256': ({ sha256 }) => sha256,
      },
    }),
  ],
};

export const API_TOKENS: Group = {
  name: 'api-tokens',
  summary: 'API tokens of scripts: list, add, revoke',
  about: 'add prints the secret once, alone on the standard output.',
  acts: [
    list('GET /api/v1/admin/api-tokens', {
      act: 'list',
      columns: {
        ID: ({ id }) => id,
        LABEL: ({ label }) => label,
        ROLE: ({ role }) => role,
        SCOPES: ({ scopes }) => scopes?.join(' ') ?? 'all of the role',
        STATE: ({ state }) => state,
        EXPIRES: ({ expires_at: at }) => atMinute(at),
        'LAST USED': ({ last_used_at: at }) => at && atMinute(at),
      },
    }),
    change('POST /api/v1/admin/api-tokens', {
      act: 'add',
      about: {
        scope: 'what it may do (everything that the role permits, but for overrides of the gate)',
        group: 'a group of hosts that it is for (the whole fleet)',
        'expires-at': 'when it ends, such as 2027-03-01T00:00:00Z',
      },
      says: ({ id, expires_at: until, token }, { note }) => {
        note(`API token ${id}, until ${atMinute(until)}. Shown once:`);
        return token;
      },
    }),
    change('DELETE /api/v1/admin/api-tokens/{id}', { act: 'revoke', says: 'The API token is revoked.' }),
  ],
};

export const OPERATORS_GROUP: Group = {
  name: 'operators',
  summary:
    'operators: list, show, add, change, disable, enable, sessions, reset second factors, bind accounts, delete',
  about: `A password is asked for at the terminal, or is a line of the standard input; it is never an argument. A new password ends
everything else that lets the operator in, but for what --keep names.`,
  acts: [
    list('GET /api/v1/admin/operators', { act: 'list', columns: OPERATORS }),
    show('GET /api/v1/admin/operators/{id}', { act: 'show', byName: 'operator' }),
    change('POST /api/v1/admin/operators', {
      act: 'add',
      operands: ['username'],
      called: { username: 'NAME' },
      about: { group: 'a group of hosts that the operator is for (the whole fleet)' },
      says: ({ username, role }) => `Operator ${username} added as ${role}.`,
    }),
    change('PATCH /api/v1/admin/operators/{id}', {
      act: 'set-role',
      means: 'Change the role of an operator; not of the last admin',
      byName: 'operator',
      operands: ['id', 'role'],
      called: { role: 'viewer|approver|admin' },
      without: ['password', 'disabled', 'groups', 'keep'],
      says: ({ username, role }) => `${username} is now ${role}.`,
    }),
    change('PATCH /api/v1/admin/operators/{id}', {
      act: 'set-groups',
      means: 'Limit an operator to the hosts of groups',
      byName: 'operator',
      operands: ['id', 'group'],
      without: ['password', 'disabled', 'role', 'keep'],
      says: ({ username, groups }) => `${username} is for ${groups?.join(', ') ?? 'the whole fleet'}.`,
    }),
    change('PATCH /api/v1/admin/operators/{id}', {
      act: 'whole-fleet',
      means: 'Let an operator work on the whole fleet',
      byName: 'operator',
      fixed: { groups: null },
      without: ['password', 'disabled', 'role', 'keep'],
      says: ({ username }) => `${username} is for the whole fleet.`,
    }),
    change('PATCH /api/v1/admin/operators/{id}', {
      act: 'set-password',
      means:
        'Change the password of an operator; ends factors, sessions and API tokens, except those in --keep',
      byName: 'operator',
      without: ['disabled', 'role', 'groups'],
      says: ({ username }) => `The password of ${username} is changed.`,
    }),
    change('PATCH /api/v1/admin/operators/{id}', {
      act: 'disable',
      means: 'Disable an operator, which ends its sessions; not the last admin',
      byName: 'operator',
      fixed: { disabled: true },
      without: ['password', 'role', 'groups', 'keep'],
      says: ({ username }) => `${username} is disabled; its sessions have ended.`,
    }),
    change('PATCH /api/v1/admin/operators/{id}', {
      act: 'enable',
      means: 'Enable an operator again',
      byName: 'operator',
      fixed: { disabled: false },
      without: ['password', 'role', 'groups', 'keep'],
      says: ({ username }) => `${username} is active again.`,
    }),
    list('GET /api/v1/admin/sessions', {
      act: 'sessions',
      columns: {
        ID: ({ id }) => id,
        OPERATOR: ({ username }) => username,
        SINCE: ({ created_at: at }) => atMinute(at),
        'LAST USED': ({ last_used_at: at }) => atMinute(at),
        FROM: ({ address }) => address,
        BY: ({ method }) => words(method),
        PROGRAM: ({ user_agent: agent }) => agent,
      },
    }),
    change('DELETE /api/v1/admin/operators/{id}/sessions', {
      act: 'end-sessions',
      byName: 'operator',
      says: 'Their sessions have ended.',
    }),
    change('DELETE /api/v1/admin/sessions', {
      act: 'end-all-sessions',
      says: 'Every session but your own has ended.',
    }),
    change('DELETE /api/v1/admin/operators/{id}/factors', {
      act: 'reset-factors',
      byName: 'operator',
      about: { keep: 'what stays, separated by commas: sessions, api_tokens' },
      says: 'The second factors are removed.',
    }),
    table('GET /api/v1/admin/operators/{id}/identities', {
      act: 'identities',
      byName: 'operator',
      items: ({ items }) => items,
      columns: IDENTITIES,
    }),
    change('POST /api/v1/admin/operators/{id}/identities', {
      act: 'bind',
      byName: 'operator',
      operands: ['id', 'provider-id', 'subject'],
      called: { 'provider-id': 'PROVIDER' },
      about: { issuer: 'unless it is that of the provider' },
      says: ({ provider_name, subject }) =>
        `The account ${subject} of ${provider_name} logs the operator in.`,
    }),
    change('DELETE /api/v1/admin/operators/{id}/identities/{identity_id}', {
      act: 'unbind',
      byName: 'operator',
      says: 'The account is unbound; the sessions that it opened have ended.',
    }),
    change('DELETE /api/v1/admin/operators/{id}/password', {
      act: 'remove-password',
      byName: 'operator',
      says: ({ username }) => `${username} has no password: the identity provider alone logs it in.`,
    }),
    change('DELETE /api/v1/admin/operators/{id}', {
      act: 'delete',
      byName: 'operator',
      says: 'The operator is deleted.',
    }),
  ],
};

export const ACCOUNT: Group = {
  name: 'account',
  summary: 'your own account: who you are, password, sessions, notices',
  acts: [
    show('GET /api/v1/auth/session', { act: 'show' }),
    change('POST /api/v1/auth/password', {
      act: 'set-password',
      says: 'The password is changed; your other sessions have ended.',
    }),
    table('GET /api/v1/auth/passkeys', {
      act: 'passkeys',
      items: ({ items }) => items,
      columns: {
        ID: ({ id }) => id,
        NAME: ({ name }) => name,
        CREATED: ({ created_at: at }) => atMinute(at),
        'LAST USED': ({ last_used_at: at }) => at && atMinute(at),
      },
    }),
    change('PATCH /api/v1/auth/passkeys/{id}', {
      act: 'rename-passkey',
      operands: ['id', 'name'],
      says: ({ name }) => `The passkey is called ${name}.`,
    }),
    change('DELETE /api/v1/auth/passkeys/{id}', { act: 'remove-passkey', says: 'The passkey is removed.' }),
    table('GET /api/v1/auth/identities', {
      act: 'identities',
      items: ({ items }) => items,
      columns: IDENTITIES,
    }),
    change('DELETE /api/v1/auth/identities/{id}', {
      act: 'unbind',
      says: 'The account is unbound; the sessions that it opened have ended.',
    }),
    change('POST /api/v1/auth/totp', {
      act: 'add-totp',
      says: ({ otpauth_uri: uri }, { note }) => {
        note('Give this to the authenticator app, and its first code to "account confirm-totp". Shown once:');
        return uri;
      },
    }),
    change('POST /api/v1/auth/totp/confirm', {
      act: 'confirm-totp',
      operands: ['code'],
      says: recoveryCodes,
    }),
    change('DELETE /api/v1/auth/totp', { act: 'remove-totp', says: 'The authenticator app is removed.' }),
    change('POST /api/v1/auth/recovery-codes', { act: 'recovery-codes', says: recoveryCodes }),
    list('GET /api/v1/auth/sessions', {
      act: 'sessions',
      columns: {
        ID: ({ id }) => id,
        'LAST USED': ({ last_used_at: at }) => atMinute(at),
        FROM: ({ address }) => address,
        BY: ({ method }) => words(method),
        THIS: ({ is_current: isThis }) => isThis,
        PROGRAM: ({ user_agent: agent }) => agent,
      },
    }),
    change('DELETE /api/v1/auth/sessions/{id}', { act: 'end-session', says: 'The session has ended.' }),
    change('DELETE /api/v1/auth/sessions', {
      act: 'end-other-sessions',
      says: 'Your other sessions have ended.',
    }),
    table('GET /api/v1/auth/notices', {
      act: 'notices',
      items: ({ items }) => items,
      columns: {
        AT: ({ at }) => atMinute(at),
        WHAT: ({ kind }) => words(kind),
        SUBJECT: ({ subject }) => subject,
        BY: ({ actor }) => actor,
        NEW: ({ is_new: isNew }) => isNew,
        ID: ({ id }) => id,
      },
    }),
    change('POST /api/v1/auth/notices/seen', {
      act: 'notices-seen',
      operands: ['until'],
      called: { until: 'ID' },
      says: 'The notices up to this one are seen.',
    }),
  ],
};

function recoveryCodes(
  { recovery_codes: codes }: { recovery_codes: readonly string[] },
  { note }: Shown,
): string {
  note('Recovery codes, each for one login without the app. Shown once:');
  return codes.join('\n');
}
