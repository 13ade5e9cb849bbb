import { describe, expect, test } from 'vitest';
import { PAGES } from './console/routes.ts';
import {
  type AgentClient,
  type Clients,
  OPERATOR_PASSWORD,
  openClients,
  type Request,
} from './testing/app-clients.ts';
import { ENGINES } from './testing/engines.ts';
import { routesOf } from './testing/routes-of.ts';
import {
  BLACKOUT,
  CHANNEL,
  HOLD,
  notificationRule,
  REBOOT_ASK,
  SLOT_LIMITS,
  STANDING,
} from './testing/standing.ts';
import { TEST_ADMIN } from './testing/test-app.ts';

/** An id that does not exist: acts on it are answered 404. */
const NOBODY = '01900000-0000-7000-8000-00000000beef';

const ORIGIN = {
  ...{ ecosystem: 'apt', key: 'a'.repeat(40), suites: ['Docker:bookworm'], rule: 'ask', min_age_days: null },
  ...{ reason: 'the build hosts need it', ends_at: '2026-12-01T00:00:00Z' },
};

/** A plan of one update. */
function planReport(updateId: string) {
  const plan = { resolved_at: '2026-11-21T09:00:00Z', actions: [{ action: 'remove', name: 'x' }] };
  return { sets: [[updateId]], plan };
}
const HOUR_MS = 3_600_000;

const CALLERS = [
  'nobody',
  'garbage',
  'own agent',
  'another agent',
  'own agent, another machine',
  'own agent, no machine',
  'revoked agent',
  'refresh token',
  'registration token',
  'viewer',
  'approver',
  'admin',
  'viewer, logged out',
  'garbage and the cookie of an admin',
] as const;
type Caller = (typeof CALLERS)[number];

/** Expected answer per caller: status, and code of a problem. */
type Expected = string;

const OPERATORS = ['viewer', 'approver', 'admin'] as const;

/** An operator's route: `answer` for the roles that may call it. */
function operator(role: 'viewer' | 'approver' | 'admin', answer: Expected): (caller: Caller) => Expected {
  const allowed: readonly string[] = OPERATORS.slice(OPERATORS.indexOf(role));
  return (caller) => {
    if (allowed.includes(caller)) return answer;
    if (caller === 'viewer' || caller === 'approver') return '403 forbidden';
    return caller === 'nobody' ? '401 unauthenticated' : '401 access_token_invalid';
  };
}

/** An agent's own route: to another agent it does not exist. */
function agent(answer: Expected): (caller: Caller) => Expected {
  return (caller) => {
    switch (caller) {
      case 'nobody':
        return '401 unauthenticated';
      case 'own agent':
        return answer;
      case 'another agent':
        return '404 not_found';
      case 'own agent, another machine':
      case 'own agent, no machine':
        return '403 unauthorized';
      default:
        return '401 access_token_invalid';
    }
  };
}

function everybody(answer: Expected): (caller: Caller) => Expected {
  return () => answer;
}

interface Row {
  path?: string;
  body?: object;
  bodyOf?: (caller: Caller) => object;
  expected: (caller: Caller) => Expected;
}

const CHECK_IN = {
  agent_version: '1.0.0',
  boot_id: 'boot',
  uptime_seconds: 1,
  received: [],
  key_set_version: 1,
  inventory_digest: {},
};
const REPORT = { scanned_at: '2026-11-21T09:00:00Z', complete: true, packages: [], updates: [] };
const DELTA = {
  ...{ base_sha256: 'a'.repeat(64), report_sha256: 'b'.repeat(64), scanned_at: '2026-11-21T09:00:00Z' },
  ...{ package_count: 0, put: [], gone: [], updates: [] },
};
const EXCEPTION = {
  ecosystem: 'npm',
  name: 'left-pad',
  version: '1.0.0',
  reason: 'test',
  expires_at: '2026-12-01T00:00:00Z',
};
const STATEMENT = {
  ...{ vulnerability: 'CVE-2024-1', ecosystem: 'npm', package: 'left-pad', distribution: null },
  ...{ versions: ['1.0.0'], scope: { kind: 'all' }, status: 'accepted', justification: null },
  ...{ text: 'test', ends_at: '2026-12-01T00:00:00Z' },
};
const PROVIDER = {
  ...{ id: 'house', name: 'House', issuer: 'https://login.example' },
  ...{ client_id: 'tidegate', client_secret: 'a secret' },
};
const FLEET_LOCK = { client_params: { id: 'core-1', group: 'web' } };
const CREDENTIAL = { id: 'AAAA', rawId: 'AAAA', type: 'public-key' };
const ASSERTION = {
  ...CREDENTIAL,
  response: { clientDataJSON: 'AAAA', authenticatorData: 'AAAA', signature: 'AAAA' },
};
const NEW_CREDENTIAL = { ...CREDENTIAL, response: { clientDataJSON: 'AAAA', attestationObject: 'AAAA' } };
const ADMIN_CLASS = { classes: { approvals: { requests: 100_000 } } };

const END_ALL = 'DELETE /api/v1/admin/sessions';

/** Every route of the server. `{own}` is the agent `own agent`; every other id does not exist. */
const ROWS: Readonly<Record<string, Row>> = {
  'GET /api/health': { expected: everybody('200') },
  'GET /api/ready': { expected: everybody('200') },
  'GET /metrics': { expected: everybody('404 not_found') },
  'GET /api/v1/public-keys': { expected: everybody('200') },
  'GET /api/openapi.json': { expected: everybody('200') },
  'GET /api/docs': { expected: everybody('200') },
  // `/agents/*`: Fastify prints a wildcard without what is before it.
  'GET /*': { path: '/agents/SHA256SUMS', expected: everybody('404 not_found') },
  'GET /server-ca.pem': { expected: everybody('404 not_found') },
  'GET /api/v1/admin/agent-packages': { expected: operator('admin', '200') },
  'GET /setup/:secret': { path: '/setup/x', expected: everybody('404 not_found') },
  'POST /setup/:secret': { path: '/setup/x', expected: everybody('404 not_found') },
  'POST /api/v1/auth/setup': {
    body: { secret: 'x'.repeat(22), username: 'mallory', password: 'a long enough password' },
    expected: everybody('404 not_found'),
  },
  'GET /api/v1/auth/providers': { expected: everybody('200') },
  'POST /api/v1/auth/login/provider': {
    body: { provider_id: 'nobody' },
    expected: everybody('404 not_found'),
  },
  'GET /sign-in/:provider/callback': { path: '/sign-in/nobody/callback?state=x', expected: everybody('403') },
  'POST /sign-in/:provider/logout': { path: '/sign-in/nobody/logout', body: {}, expected: everybody('400') },
  'POST /api/v1/auth/step-up/provider': { body: {}, expected: operator('viewer', '409 conflict') },
  'GET /api/v1/auth/identities': { expected: operator('viewer', '200') },
  'POST /api/v1/auth/identities': {
    body: { provider_id: 'nobody' },
    expected: operator('viewer', '404 not_found'),
  },
  'DELETE /api/v1/auth/identities/:id': {
    path: `/api/v1/auth/identities/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/admin/identity-providers': { expected: operator('admin', '200') },
  'GET /api/v1/admin/identity-providers/:id': {
    path: '/api/v1/admin/identity-providers/nobody',
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/admin/identity-providers': { body: PROVIDER, expected: operator('admin', '201') },
  'PATCH /api/v1/admin/identity-providers/:id': {
    path: '/api/v1/admin/identity-providers/nobody',
    body: { name: 'x' },
    expected: operator('admin', '404 not_found'),
  },
  'DELETE /api/v1/admin/identity-providers/:id': {
    path: '/api/v1/admin/identity-providers/nobody',
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/admin/identity-providers/:id/test': {
    path: '/api/v1/admin/identity-providers/nobody/test',
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/admin/operators/:id/identities': {
    path: `/api/v1/admin/operators/${NOBODY}/identities`,
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/admin/operators/:id/identities': {
    path: `/api/v1/admin/operators/${NOBODY}/identities`,
    body: { provider_id: 'house', subject: 'x' },
    expected: operator('admin', '404 not_found'),
  },
  'DELETE /api/v1/admin/operators/:id/identities/:identity_id': {
    path: `/api/v1/admin/operators/${NOBODY}/identities/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'DELETE /api/v1/admin/operators/:id/password': {
    path: `/api/v1/admin/operators/${NOBODY}/password`,
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/auth/login': {
    // A distinct name per caller: guesses at one name are throttled after five.
    bodyOf: (caller) => ({
      username: caller === 'nobody' ? 'admin' : `name-${CALLERS.indexOf(caller)}`,
      password: 'wrong horse battery',
    }),
    expected: everybody('401 unauthenticated'),
  },
  'POST /logs/client-error': {
    body: { error_type: 'ui_error', message: 'test' },
    expected: everybody('202'),
  },
  'POST /api/v1/agents/register': {
    body: {
      hostname: 'x',
      os: { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' },
      agent_version: '1.0.0',
    },
    expected: (caller) => {
      if (caller === 'nobody') return '401 unauthenticated';
      // Used up by this same machine, which may repeat the enrolment: its reply may have been lost.
      return caller === 'registration token'
        ? '409 machine_already_registered'
        : '401 registration_token_invalid';
    },
  },
  'POST /api/v1/agents/renew': {
    body: { refresh_token: 'rt1.x' },
    expected: everybody('401 refresh_token_invalid'),
  },

  'POST /api/v1/agents/:agent_id/check-in': {
    path: '/api/v1/agents/{own}/check-in',
    body: CHECK_IN,
    expected: agent('200'),
  },
  'GET /api/v1/agents/:agent_id/state': {
    path: '/api/v1/agents/{own}/state',
    expected: agent('200'),
  },
  'GET /api/v1/agents/:agent_id/approvals/:token_id': {
    path: `/api/v1/agents/{own}/approvals/${NOBODY}`,
    expected: agent('404 not_found'),
  },
  'PUT /api/v1/agents/:agent_id/inventory/:ecosystem': {
    path: '/api/v1/agents/{own}/inventory/apt',
    body: REPORT,
    expected: agent('200'),
  },
  'PATCH /api/v1/agents/:agent_id/inventory/:ecosystem': {
    path: '/api/v1/agents/{own}/inventory/apt',
    body: DELTA,
    expected: agent('409 whole_report_required'),
  },
  'PUT /api/v1/agents/:agent_id/inventory/:ecosystem/parts/:report_sha256/:part': {
    path: `/api/v1/agents/{own}/inventory/apt/parts/${'a'.repeat(64)}/1?parts=2`,
    body: REPORT,
    expected: agent('202'),
  },
  'PUT /api/v1/agents/:agent_id/restarts': {
    path: '/api/v1/agents/{own}/restarts',
    body: {
      ...{ observed_at: '2026-11-21T09:00:00Z', boot_id: 'boot' },
      services: { need: 'not_needed', stale: [], more_services: 0 },
      reboot: { need: 'not_needed', evidence: [], packages: [], livepatch: 'unknown' },
    },
    expected: agent('200'),
  },
  'PUT /api/v1/agents/:agent_id/probes': {
    path: '/api/v1/agents/{own}/probes',
    body: { at: '2026-11-21T09:00:00Z', probes: [] },
    expected: agent('200'),
  },
  'PUT /api/v1/agents/:agent_id/tags': {
    path: '/api/v1/agents/{own}/tags',
    body: { tags: ['host.role=web'] },
    expected: agent('200'),
  },
  'PUT /api/v1/agents/:agent_id/timeliness': {
    path: '/api/v1/agents/{own}/timeliness',
    body: { clock: '2026-11-21T09:00:00Z', lists: {} },
    expected: agent('200'),
  },
  'PUT /api/v1/agents/:agent_id/plans': {
    path: '/api/v1/agents/{own}/plans',
    body: planReport(NOBODY),
    expected: agent('404 not_found'),
  },
  'POST /api/v1/agents/:agent_id/commands/:command_id/result': {
    path: `/api/v1/agents/{own}/commands/${NOBODY}/result`,
    body: { status: 'success' },
    expected: agent('404 not_found'),
  },
  'POST /api/v1/agents/:agent_id/commands/:command_id/output': {
    path: `/api/v1/agents/{own}/commands/${NOBODY}/output`,
    body: { seq: 1, stream: 'stdout', data: 'x' },
    expected: agent('404 not_found'),
  },
  'POST /api/v1/agents/:agent_id/events': {
    path: '/api/v1/agents/{own}/events',
    body: { events: [] },
    expected: agent('202'),
  },

  'GET /api/v1/agents': { expected: operator('viewer', '200') },
  'GET /api/v1/agents/:agent_id': {
    path: `/api/v1/agents/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/agents/:agent_id/restarts': {
    path: `/api/v1/agents/${NOBODY}/restarts`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/agents/:agent_id/withheld': {
    path: `/api/v1/agents/${NOBODY}/withheld`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/agents/:agent_id/progress': {
    path: `/api/v1/agents/${NOBODY}/progress`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/updates/:id/progress': {
    path: `/api/v1/updates/${NOBODY}/progress`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/commands/:id/progress': {
    path: `/api/v1/commands/${NOBODY}/progress`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/agents/:agent_id/faults': {
    path: `/api/v1/agents/${NOBODY}/faults`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/agents/:agent_id/probes': {
    path: `/api/v1/agents/${NOBODY}/probes`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/agents/:agent_id/probes/run': {
    path: `/api/v1/agents/${NOBODY}/probes/run`,
    expected: operator('approver', '404 not_found'),
  },
  'GET /api/v1/agents/:agent_id/inventory': {
    path: `/api/v1/agents/${NOBODY}/inventory`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/agents/:agent_id/inventory/changes': {
    path: `/api/v1/agents/${NOBODY}/inventory/changes`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/agents/:agent_id/inventory/at': {
    path: `/api/v1/agents/${NOBODY}/inventory/at?at=2026-01-01T00:00:00Z`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/agents/:agent_id/inventory/difference': {
    path: `/api/v1/agents/${NOBODY}/inventory/difference?from=2026-01-01T00:00:00Z`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/agents/:agent_id/sbom': {
    path: `/api/v1/agents/${NOBODY}/sbom`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/agents/:agent_id/vex': {
    path: `/api/v1/agents/${NOBODY}/vex`,
    expected: operator('viewer', '404 not_found'),
  },
  'DELETE /api/v1/agents/:agent_id': {
    path: `/api/v1/agents/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/agents/:agent_id/revoke': {
    path: `/api/v1/agents/${NOBODY}/revoke`,
    body: {},
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/agents/:agent_id/reboot': {
    path: `/api/v1/agents/${NOBODY}/reboot`,
    body: {},
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/agents/:agent_id/restart-services': {
    path: `/api/v1/agents/${NOBODY}/restart-services`,
    body: {},
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/agents/:agent_id/repair': {
    path: `/api/v1/agents/${NOBODY}/repair`,
    body: { repair_sha256: 'a'.repeat(64) },
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/agents/:agent_id/scan': {
    path: `/api/v1/agents/${NOBODY}/scan`,
    body: {},
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/agents/:agent_id/polling': {
    path: `/api/v1/agents/${NOBODY}/polling`,
    body: { interval_seconds: 60 },
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/agents/:agent_id/dismiss-clone': {
    path: `/api/v1/agents/${NOBODY}/dismiss-clone`,
    body: { reason: 'one machine' },
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/admin/agents/:agent_id/rebind-machine-id': {
    path: `/api/admin/agents/${NOBODY}/rebind-machine-id`,
    body: { reason: 'test' },
    expected: operator('admin', '404 not_found'),
  },
  'PATCH /api/v1/agents/:agent_id': {
    path: `/api/v1/agents/${NOBODY}`,
    body: { group: 'web' },
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/agents/group': {
    body: { agent_ids: [NOBODY], group: 'web' },
    expected: operator('admin', '200'),
  },
  'POST /api/v1/agents/tags': {
    body: { agent_ids: [NOBODY], set: ['env=prod'], remove: [] },
    expected: operator('admin', '200'),
  },
  'GET /api/v1/tags': { expected: operator('viewer', '200') },
  'GET /api/v1/groups': { expected: operator('viewer', '200') },
  'GET /api/v1/packages': { expected: operator('viewer', '200') },
  'GET /api/v1/updates': { expected: operator('viewer', '200') },
  'GET /api/v1/updates/by-host': { expected: operator('viewer', '200') },
  'GET /api/v1/updates/:id': {
    path: `/api/v1/updates/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/updates/approve': {
    body: { update_ids: [NOBODY] },
    expected: operator('approver', '200'),
  },
  'POST /api/v1/updates/rollback': {
    body: { update_ids: [NOBODY], reason: 'test' },
    expected: operator('approver', '200'),
  },
  'POST /api/v1/updates/preview': {
    body: { update_ids: [NOBODY] },
    expected: operator('approver', '200'),
  },
  'POST /api/v1/updates/:id/approve': {
    path: `/api/v1/updates/${NOBODY}/approve`,
    body: {},
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/updates/:id/preview': {
    path: `/api/v1/updates/${NOBODY}/preview`,
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/updates/:id/reject': {
    path: `/api/v1/updates/${NOBODY}/reject`,
    body: {},
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/updates/:id/reopen': {
    path: `/api/v1/updates/${NOBODY}/reopen`,
    body: {},
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/updates/:id/countersign': {
    path: `/api/v1/updates/${NOBODY}/countersign`,
    body: { keyid: 'ops', sig: Buffer.alloc(64).toString('base64') },
    expected: operator('approver', '404 not_found'),
  },
  'GET /api/v1/commands': { expected: operator('viewer', '200') },
  'GET /api/v1/commands/:id': {
    path: `/api/v1/commands/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/commands/:id/output': {
    path: `/api/v1/commands/${NOBODY}/output`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/commands/:id/cancel': {
    path: `/api/v1/commands/${NOBODY}/cancel`,
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/commands/:id/retry': {
    path: `/api/v1/commands/${NOBODY}/retry`,
    expected: operator('approver', '404 not_found'),
  },
  'GET /api/v1/events': { expected: operator('viewer', '200') },
  'GET /api/v1/events/:id': {
    path: `/api/v1/events/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/evidence': { expected: operator('viewer', '200') },
  'GET /api/v1/auth/session': { expected: operator('viewer', '200') },
  // Passkeys need a host name, and this server is called by its address.
  'POST /api/v1/auth/login/passkey/options': { expected: everybody('409 conflict') },
  'POST /api/v1/auth/login/passkey': {
    body: { challenge_id: NOBODY, credential: ASSERTION },
    expected: everybody('409 conflict'),
  },
  'GET /api/v1/auth/passkeys': { expected: operator('viewer', '200') },
  'POST /api/v1/auth/passkeys/options': { expected: operator('viewer', '409 conflict') },
  'POST /api/v1/auth/passkeys': {
    body: { challenge_id: NOBODY, name: 'x', credential: NEW_CREDENTIAL },
    expected: operator('viewer', '409 conflict'),
  },
  'PATCH /api/v1/auth/passkeys/:id': {
    path: `/api/v1/auth/passkeys/${NOBODY}`,
    body: { name: 'x' },
    expected: operator('viewer', '404 not_found'),
  },
  'DELETE /api/v1/auth/passkeys/:id': {
    path: `/api/v1/auth/passkeys/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/auth/totp/confirm': {
    body: { code: '000000' },
    expected: operator('viewer', '409 conflict'),
  },
  'POST /api/v1/auth/totp': { expected: operator('viewer', '200') },
  'DELETE /api/v1/auth/totp': { expected: operator('viewer', '404 not_found') },
  'POST /api/v1/auth/recovery-codes': { expected: operator('viewer', '409 conflict') },
  'POST /api/v1/auth/step-up': { body: { totp: '000000' }, expected: operator('viewer', '409 conflict') },
  'POST /api/v1/auth/step-up/options': { expected: operator('viewer', '409 conflict') },
  'GET /api/v1/auth/sessions': { expected: operator('viewer', '200') },
  'DELETE /api/v1/auth/sessions/:id': {
    path: `/api/v1/auth/sessions/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'DELETE /api/v1/auth/sessions': { expected: operator('viewer', '204') },
  'GET /api/v1/auth/notices': { expected: operator('viewer', '200') },
  'POST /api/v1/auth/notices/seen': { body: { until: NOBODY }, expected: operator('viewer', '204') },
  'POST /api/v1/auth/password': {
    body: { current_password: 'a guess', new_password: 'a long enough password' },
    expected: operator('viewer', '403 forbidden'),
  },
  'DELETE /api/v1/admin/operators/:id/factors': {
    path: `/api/v1/admin/operators/${NOBODY}/factors`,
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/admin/signing-keys': { expected: operator('viewer', '200') },
  'POST /api/v1/admin/signing-keys': { body: {}, expected: operator('admin', '201') },
  'POST /api/v1/admin/signing-keys/:version/use': {
    path: '/api/v1/admin/signing-keys/999/use',
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/admin/signing-keys/:version/revoke': {
    path: '/api/v1/admin/signing-keys/999/revoke',
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/admin/rate-limits': { expected: operator('admin', '200') },
  'PUT /api/v1/admin/rate-limits': { body: ADMIN_CLASS, expected: operator('admin', '200') },
  'GET /api/v1/admin/vulnerability-policy': { expected: operator('viewer', '200') },
  'PUT /api/v1/admin/vulnerability-policy': {
    body: { policy: 'any' },
    expected: operator('admin', '200'),
  },
  'GET /api/v1/admin/registration-tokens': { expected: operator('admin', '200') },
  'GET /api/v1/admin/registration-tokens/:id': {
    path: `/api/v1/admin/registration-tokens/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/admin/registration-tokens': { body: { label: 'test' }, expected: operator('admin', '201') },
  'DELETE /api/v1/admin/registration-tokens/:id': {
    path: `/api/v1/admin/registration-tokens/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/admin/sessions': { expected: operator('admin', '200') },
  'DELETE /api/v1/admin/operators/:id/sessions': {
    path: `/api/v1/admin/operators/${NOBODY}/sessions`,
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/admin/operators': { expected: operator('admin', '200') },
  'GET /api/v1/admin/operators/:id': {
    path: `/api/v1/admin/operators/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/admin/operators': {
    body: { username: 'admin', password: 'a long enough password', role: 'viewer' },
    expected: operator('admin', '409 conflict'),
  },
  'PATCH /api/v1/admin/operators/:id': {
    path: `/api/v1/admin/operators/${NOBODY}`,
    body: { role: 'viewer' },
    expected: operator('admin', '404 not_found'),
  },
  'DELETE /api/v1/admin/operators/:id': {
    path: `/api/v1/admin/operators/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/views': { expected: operator('viewer', '200') },
  'POST /api/v1/views': { body: {}, expected: operator('viewer', '400 invalid_request') },
  'DELETE /api/v1/views/:id': {
    path: `/api/v1/views/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/admin/api-tokens': { expected: operator('admin', '200') },
  'POST /api/v1/admin/api-tokens': {
    body: { label: 'test', role: 'viewer', expires_at: '2026-11-20T00:00:00Z' },
    expected: operator('admin', '400 invalid_request'),
  },
  'DELETE /api/v1/admin/api-tokens/:id': {
    path: `/api/v1/admin/api-tokens/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/admin/resync': { expected: operator('viewer', '200') },
  'POST /api/v1/admin/resync': { body: { hours: 1, reason: 'test' }, expected: operator('admin', '201') },
  'DELETE /api/v1/admin/resync': { expected: operator('admin', '204') },
  'GET /api/v1/updates/:id/decisions': {
    path: `/api/v1/updates/${NOBODY}/decisions`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/updates/:id/approval': {
    path: `/api/v1/updates/${NOBODY}/approval`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/decisions/:id': {
    path: `/api/v1/decisions/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/decisions/:id/statement': {
    path: `/api/v1/decisions/${NOBODY}/statement`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/artifacts/divergences': { expected: operator('viewer', '200') },
  'GET /api/v1/artifacts/divergences/:id': {
    path: `/api/v1/artifacts/divergences/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/artifacts/divergences/:id/sightings': {
    path: `/api/v1/artifacts/divergences/${NOBODY}/sightings`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/artifacts/divergences/decide': {
    body: { decisions: [{ id: NOBODY, accept: 'all' }], reason: 'test' },
    expected: operator('approver', '200'),
  },
  'POST /api/v1/artifacts/divergences/:id/undo': {
    path: `/api/v1/artifacts/divergences/${NOBODY}/undo`,
    body: { reason: 'test' },
    expected: operator('approver', '404 not_found'),
  },
  'GET /api/v1/artifacts/hosts-set-aside': { expected: operator('viewer', '200') },
  'POST /api/v1/artifacts/hosts-set-aside/:agent_id/trust': {
    path: `/api/v1/artifacts/hosts-set-aside/${NOBODY}/trust`,
    body: { reason: 'test' },
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/artifacts/divergences/:id/decide': {
    path: `/api/v1/artifacts/divergences/${NOBODY}/decide`,
    body: { accept: 'all', reason: 'test' },
    expected: operator('approver', '404 not_found'),
  },
  'GET /api/v1/calendar': {
    path: '/api/v1/calendar?from=2026-11-21&days=7&zone=UTC',
    expected: operator('viewer', '200'),
  },
  'GET /api/v1/blackouts': { expected: operator('viewer', '200') },
  'GET /api/v1/blackouts/:id': {
    path: `/api/v1/blackouts/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  // The approver has taken the name by then.
  'POST /api/v1/blackouts': {
    body: BLACKOUT,
    expected: (caller) => (caller === 'admin' ? '409 conflict' : operator('approver', '201')(caller)),
  },
  'POST /api/v1/blackouts/:id/end': {
    path: `/api/v1/blackouts/${NOBODY}/end`,
    body: { reason: 'test' },
    expected: operator('approver', '404 not_found'),
  },
  'GET /api/v1/rollouts': { expected: operator('viewer', '200') },
  'GET /api/v1/rollouts/:id': {
    path: `/api/v1/rollouts/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/rollouts/:id/hosts': {
    path: `/api/v1/rollouts/${NOBODY}/hosts`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/rollouts/:id/halt': {
    path: `/api/v1/rollouts/${NOBODY}/halt`,
    body: { reason: 'test' },
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/rollouts/:id/cancel': {
    path: `/api/v1/rollouts/${NOBODY}/cancel`,
    body: { reason: 'test' },
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/rollouts/:id/resume': {
    path: `/api/v1/rollouts/${NOBODY}/resume`,
    body: { reason: 'test' },
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/rollouts/:id/emergency': {
    path: `/api/v1/rollouts/${NOBODY}/emergency`,
    body: { reason: 'test' },
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/rollouts/:id/rollback': {
    path: `/api/v1/rollouts/${NOBODY}/rollback`,
    body: { ring: 0, reason: 'test' },
    expected: operator('approver', '404 not_found'),
  },
  'POST /api/v1/rollouts/:id/approve': {
    path: `/api/v1/rollouts/${NOBODY}/approve`,
    body: { ring: 0 },
    expected: operator('approver', '404 not_found'),
  },
  'GET /api/v1/holds': { expected: operator('viewer', '200') },
  'GET /api/v1/holds/:id': {
    path: `/api/v1/holds/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/holds': { body: HOLD, expected: operator('approver', '201') },
  'DELETE /api/v1/holds/:id': {
    path: `/api/v1/holds/${NOBODY}`,
    expected: operator('approver', '404 not_found'),
  },
  'GET /api/v1/reboots': { expected: operator('viewer', '200') },
  'GET /api/v1/reboots/:id': {
    path: `/api/v1/reboots/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/reboots': { body: REBOOT_ASK, expected: operator('admin', '200') },
  'DELETE /api/v1/reboots/:id': {
    path: `/api/v1/reboots/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/reboot-slots': { expected: operator('viewer', '200') },
  'PUT /api/v1/reboot-slots': { body: SLOT_LIMITS, expected: operator('admin', '204') },
  // Without a FleetLock token they do not exist.
  'POST /v1/pre-reboot': { body: FLEET_LOCK, expected: everybody('404') },
  'POST /v1/steady-state': { body: FLEET_LOCK, expected: everybody('404') },
  'POST /api/v1/reboot-slots/:id/release': {
    path: `/api/v1/reboot-slots/${NOBODY}/release`,
    body: { reason: 'test' },
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/sbom': {
    path: '/api/v1/sbom?group=lab',
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/vex': { path: '/api/v1/vex?group=lab', expected: operator('viewer', '404 not_found') },
  'GET /api/v1/unfixed': { expected: operator('viewer', '200') },
  'GET /api/v1/unfixed/coverage': { expected: operator('viewer', '200') },
  'GET /api/v1/unfixed/hosts': {
    path: '/api/v1/unfixed/hosts?distribution=npm&package=x&vulnerability=CVE-1',
    expected: operator('viewer', '200'),
  },
  'PUT /api/v1/unfixed/:id/mitigation': {
    path: `/api/v1/unfixed/${NOBODY}/mitigation`,
    body: { mitigation: null },
    expected: operator('approver', '404 not_found'),
  },
  'GET /api/v1/vulnerabilities': { expected: operator('viewer', '200') },
  'GET /api/v1/vulnerabilities/coverage': { expected: operator('viewer', '200') },
  'GET /api/v1/vulnerabilities/:id': {
    path: '/api/v1/vulnerabilities/CVE-2024-1',
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/vulnerabilities/:id/hosts': {
    path: '/api/v1/vulnerabilities/CVE-2024-1/hosts',
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/policies': { expected: operator('viewer', '200') },
  'GET /api/v1/policies/:id': {
    path: `/api/v1/policies/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/policies/:id/preview': {
    path: `/api/v1/policies/${NOBODY}/preview`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/policies/:id/backtest': {
    path: `/api/v1/policies/${NOBODY}/backtest`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/policies/backtest': {
    body: { scope: STANDING.scope, terms: STANDING.terms, windows: [] },
    expected: operator('approver', '200'),
  },
  // The approver has taken the name by then.
  'POST /api/v1/policies': {
    body: STANDING,
    expected: (caller) => (caller === 'admin' ? '409 conflict' : operator('approver', '201')(caller)),
  },
  'POST /api/v1/policies/preview': {
    body: { scope: STANDING.scope, terms: STANDING.terms, windows: [] },
    expected: operator('approver', '200'),
  },
  'PUT /api/v1/policies/:id': {
    path: `/api/v1/policies/${NOBODY}`,
    body: { ...STANDING, replaces: '0'.repeat(64) },
    expected: operator('approver', '404 not_found'),
  },
  'DELETE /api/v1/policies/:id': {
    path: `/api/v1/policies/${NOBODY}`,
    expected: operator('approver', '404 not_found'),
  },
  'GET /api/v1/admin/age-exceptions': { expected: operator('viewer', '200') },
  'GET /api/v1/admin/age-exceptions/:id': {
    path: `/api/v1/admin/age-exceptions/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/admin/age-exceptions': { body: EXCEPTION, expected: operator('admin', '201') },
  'DELETE /api/v1/admin/age-exceptions/:id': {
    path: `/api/v1/admin/age-exceptions/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/admin/origins': { expected: operator('viewer', '200') },
  'GET /api/v1/admin/origins/:id': {
    path: `/api/v1/admin/origins/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/admin/origins': { body: ORIGIN, expected: operator('admin', '201') },
  'DELETE /api/v1/admin/origins/:id': {
    path: `/api/v1/admin/origins/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/notifications/channels': { expected: operator('admin', '200') },
  'GET /api/v1/notifications/channels/:id': {
    path: `/api/v1/notifications/channels/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/notifications/channels': { body: CHANNEL, expected: operator('admin', '201') },
  'PUT /api/v1/notifications/channels/:id': {
    ...{ path: `/api/v1/notifications/channels/${NOBODY}`, body: CHANNEL },
    expected: operator('admin', '404 not_found'),
  },
  'DELETE /api/v1/notifications/channels/:id': {
    path: `/api/v1/notifications/channels/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/notifications/channels/:id/test': {
    path: `/api/v1/notifications/channels/${NOBODY}/test`,
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/notifications/rules': { expected: operator('admin', '200') },
  'GET /api/v1/notifications/rules/:id': {
    path: `/api/v1/notifications/rules/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/notifications/rules': {
    body: notificationRule(NOBODY),
    expected: operator('admin', '400 invalid_request'),
  },
  'POST /api/v1/notifications/rules/preview': {
    body: notificationRule(NOBODY),
    expected: operator('admin', '200'),
  },
  'PUT /api/v1/notifications/rules/:id': {
    ...{ path: `/api/v1/notifications/rules/${NOBODY}`, body: notificationRule(NOBODY) },
    expected: operator('admin', '404 not_found'),
  },
  'DELETE /api/v1/notifications/rules/:id': {
    path: `/api/v1/notifications/rules/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/notifications/deliveries': { expected: operator('admin', '200') },
  'GET /api/v1/notifications/deliveries/:id': {
    path: `/api/v1/notifications/deliveries/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'POST /api/v1/notifications/deliveries/resend': {
    body: { ids: [NOBODY] },
    expected: operator('admin', '200'),
  },
  'GET /api/v1/notifications/notices/:id': {
    path: `/api/v1/notifications/notices/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/admin/vex-statements': { expected: operator('viewer', '200') },
  'GET /api/v1/admin/vex-statements/:id': {
    path: `/api/v1/admin/vex-statements/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'POST /api/v1/admin/vex-statements': { body: STATEMENT, expected: operator('admin', '201') },
  'DELETE /api/v1/admin/vex-statements/:id': {
    path: `/api/v1/admin/vex-statements/${NOBODY}`,
    expected: operator('admin', '404 not_found'),
  },
  'GET /api/v1/admin/vex-document': {
    path: '/api/v1/admin/vex-document?format=openvex',
    expected: operator('viewer', '200'),
  },
  'POST /api/v1/admin/vex-document': {
    body: { format: 'openvex', document: {}, scope: { kind: 'all' }, ends_at: STATEMENT.ends_at },
    expected: operator('admin', '400 invalid_request'),
  },
  'GET /api/v1/bulk/:progress_id': {
    path: `/api/v1/bulk/${NOBODY}`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/bulk/:progress_id/result': {
    path: `/api/v1/bulk/${NOBODY}/result`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/overview': { expected: operator('viewer', '200') },
  'GET /api/v1/overview/history': { expected: operator('viewer', '200') },
  'GET /api/v1/agents/:agent_id/heartbeats': {
    path: `/api/v1/agents/${NOBODY}/heartbeats`,
    expected: operator('viewer', '404 not_found'),
  },
  'GET /api/v1/stream': { path: '/api/v1/stream?seconds=0', expected: operator('viewer', '200') },
  // These affect the other rows, so they come last.
  'POST /api/v1/admin/rate-limits/reset': { expected: operator('admin', '200') },
  [END_ALL]: { expected: operator('admin', '204') },
  // The session of each caller ends with the first of the two.
  'POST /api/v1/auth/logout/provider': { expected: operator('viewer', '200') },
  'POST /api/v1/auth/logout': {
    expected: (caller) => (caller === 'nobody' ? '401 unauthenticated' : '401 access_token_invalid'),
  },
};

const [engine] = ENGINES;
if (!engine) throw new Error('no engine');

describe('who may call what', () => {
  test('every route of the application has a row in the table', async () => {
    const { app } = await openClients(engine);
    await app.http.ready();
    const served = routesOf(app.http.printRoutes({ commonPrefix: false }));
    const pages = new Set(PAGES.map((path) => `GET ${path}`));
    expect(served.filter((route) => !pages.has(route))).toEqual(Object.keys(ROWS).sort());
  });

  test('every route answers every caller with exactly the status and code of the table', async () => {
    const clients = await openClients(engine);
    const own = await clients.enrol('machine-own');
    const credentials = await credentialsOf(clients, own);
    const [expected, actual]: [string[], string[]] = [[], []];
    for (const [n, [route, row]] of Object.entries(ROWS).entries()) {
      if (n % PROVEN_FOR_ROUTES === 0) await provePasswords(clients);
      // All requests come from one address: beyond its limit every answer would be 429.
      clients.app.platform.clock.advance(2_000);
      for (const caller of CALLERS) {
        const answer = await clients.send({
          ...requestOf(route, row, { own, caller }),
          ...credentials[caller],
        });
        expected.push(`${route} by ${caller}: ${row.expected(caller)}`);
        actual.push(`${route} by ${caller}: ${[answer.status, answer.code].filter(Boolean).join(' ')}`);
      }
      if (route !== END_ALL) continue;
      for (const role of ['viewer', 'approver'] as const) credentials[role].token = await clients.logIn(role);
    }
    expect(actual).toEqual(expected);
  });

  test('an expired token and a wrong one get different codes, for agents and for operators', async () => {
    const clients = await openClients(engine);
    const own = await clients.enrol('machine-own');
    clients.app.platform.clock.advance(9 * HOUR_MS);
    const { accessToken: token, machineId } = own;
    const url = `/api/v1/agents/${own.agentId}/check-in`;
    expect(await clients.send({ method: 'POST', url, token, machineId, body: CHECK_IN })).toMatchObject({
      status: 401,
      code: 'access_token_expired',
    });
    expect(await clients.send({ method: 'GET', url: '/api/v1/agents', token: clients.viewer })).toMatchObject(
      { status: 401, code: 'access_token_expired' },
    );
  });

  test('an agent with valid credentials reaches neither commands nor updates of another one', async () => {
    const clients = await openClients(engine);
    const [victim, thief] = [await clients.enrol('machine-victim'), await clients.enrol('machine-thief')];
    const scan = `/api/v1/agents/${victim.agentId}/scan`;
    const queued = await clients.send({ method: 'POST', url: scan, token: clients.admin, body: {} });
    const commandId = JSON.parse(queued.text).command_id;
    const report = {
      ...REPORT,
      updates: [{ name: 'openssl', current_version: '1', available_version: '2' }],
    };
    const stored = await asAgent(clients, victim, { method: 'PUT', url: 'inventory/apt', body: report });
    const updateId = JSON.parse(stored.text).updates[0].update_id;
    // Delivered, so that its result can be reported.
    expect((await asAgent(clients, victim, { method: 'POST', url: 'check-in', body: CHECK_IN })).status).toBe(
      200,
    );
    for (const request of [
      { method: 'POST', url: `commands/${commandId}/result`, body: { status: 'success' } },
      { method: 'POST', url: `commands/${commandId}/output`, body: { seq: 1, stream: 'stdout', data: 'x' } },
      { method: 'PUT', url: 'plans', body: planReport(updateId) },
    ] as const) {
      expect(await asAgent(clients, thief, request)).toMatchObject({ status: 404, code: 'not_found' });
    }
    const own = { method: 'POST', url: `commands/${commandId}/result`, body: { status: 'success' } } as const;
    expect((await asAgent(clients, victim, own)).status).toBe(200);
  });
});

function asAgent(clients: Clients, agent: AgentClient, request: Request) {
  const url = `/api/v1/agents/${agent.agentId}/${request.url}`;
  return clients.send({ ...request, url, token: agent.accessToken, machineId: agent.machineId });
}

async function credentialsOf(clients: Clients, own: AgentClient) {
  const other = await clients.enrol('machine-other');
  const revoked = await clients.enrol('machine-revoked');
  // Cached before one of them is revoked.
  for (const one of [own, other, revoked]) {
    for (let i = 0; i < 2; i++)
      await asAgent(clients, one, { method: 'POST', url: 'check-in', body: CHECK_IN });
  }
  const url = `/api/v1/agents/${revoked.agentId}/revoke`;
  await clients.send({ method: 'POST', url, token: clients.admin, body: {} });
  const loggedOut = await clients.logIn('viewer');
  await clients.send({ method: 'POST', url: '/api/v1/auth/logout', token: loggedOut });
  const { machineId } = own;
  return {
    nobody: {},
    garbage: { token: 'garbage' },
    'own agent': { token: own.accessToken, machineId },
    'another agent': { token: other.accessToken, machineId: other.machineId },
    'own agent, another machine': { token: own.accessToken, machineId: other.machineId },
    'own agent, no machine': { token: own.accessToken },
    'revoked agent': { token: revoked.accessToken, machineId: revoked.machineId },
    'refresh token': { token: own.refreshToken, machineId },
    'registration token': { token: own.registrationToken, machineId },
    viewer: { token: clients.viewer },
    approver: { token: clients.approver },
    admin: { token: clients.admin },
    'viewer, logged out': { token: loggedOut },
    'garbage and the cookie of an admin': { token: 'garbage', cookie: clients.admin },
  } satisfies Record<Caller, Partial<Request>>;
}

/** Number of routes called within the lifetime of one password proof, at two seconds each. */
const PROVEN_FOR_ROUTES = 100;

async function provePasswords(clients: Clients): Promise<void> {
  for (const [token, password] of [
    [clients.viewer, OPERATOR_PASSWORD],
    [clients.approver, OPERATOR_PASSWORD],
    [clients.admin, TEST_ADMIN.password],
  ] as const) {
    const url = '/api/v1/auth/step-up';
    const { status } = await clients.send({ method: 'POST', url, token, body: { password } });
    if (status !== 200) throw new Error(`step-up answered ${status}`);
  }
}

function requestOf(route: string, row: Row, { own, caller }: { own: AgentClient; caller: Caller }): Request {
  const [method, pattern = ''] = route.split(' ');
  const url = (row.path ?? pattern).replace('{own}', own.agentId);
  const body = row.bodyOf?.(caller) ?? row.body;
  switch (method) {
    case 'GET':
    case 'POST':
    case 'PUT':
    case 'PATCH':
    case 'DELETE':
      return { method, url, ...(body ? { body } : {}) };
    default:
      throw new Error(`no such method: ${method}`);
  }
}
