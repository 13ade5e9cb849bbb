import {
  BLACKOUT,
  CHANNEL,
  HOLD,
  notificationRule,
  REBOOT_ASK,
  SLOT_LIMITS,
  STANDING,
  STANDING_TERMS,
} from './standing.ts';

/** What a caller may name. */
export type Kind =
  | ('agent' | 'update' | 'command' | 'event' | 'decision' | 'approval' | 'registration token' | 'group')
  | (
      | 'operator'
      | 'identity provider'
      | 'api token'
      | 'age exception'
      | 'statement'
      | 'origin'
      | 'policy'
      | 'blackout'
      | 'hold'
      | 'reboot'
      | 'reboot slot'
      | 'rollout'
      | 'vulnerability'
      | 'known vulnerability'
      | 'divergence'
      | 'host set aside'
      | 'signing key'
      | 'channel'
      | 'notification rule'
      | 'delivery'
    )
  | ('session' | 'passkey' | 'identity' | 'view' | 'bulk run' | 'notice' | 'challenge');

/** Whose the rows of a kind are. */
export const OWNERS: Readonly<Record<Kind, 'host' | 'group' | 'fleet' | 'operator'>> = {
  ...{ agent: 'host', update: 'host', command: 'host', event: 'host', decision: 'host', approval: 'host' },
  ...{ 'registration token': 'host', group: 'group', 'host set aside': 'fleet', 'signing key': 'fleet' },
  ...{
    operator: 'fleet',
    'identity provider': 'fleet',
    'api token': 'fleet',
    'age exception': 'fleet',
    statement: 'fleet',
    origin: 'fleet',
    policy: 'fleet',
    blackout: 'fleet',
    hold: 'fleet',
    reboot: 'fleet',
    'reboot slot': 'fleet',
    rollout: 'fleet',
    vulnerability: 'fleet',
    'known vulnerability': 'fleet',
    divergence: 'fleet',
    channel: 'fleet',
    'notification rule': 'fleet',
    delivery: 'fleet',
  },
  ...{
    session: 'operator',
    passkey: 'operator',
    identity: 'operator',
    view: 'operator',
    'bulk run': 'operator',
  },
  ...{ notice: 'operator', challenge: 'operator' },
};

export interface Naming {
  kind: Kind;
  /** The request's body; of a place in the body, with the id in it. Moves take a host too, plans an update of the caller. */
  body?: (id: string, hostOfOurs: string, update: string) => object;
  /** What a success says that found nothing: of lists and of requests for many. */
  nothing?: (id: string) => object;
  /** For agents alone; operators are refused. */
  byAgents?: true;
  /** For operators of the whole fleet alone, whatever group they name. */
  byFleet?: true;
  /** What is named stays on record when its host is deleted, and is read as before. */
  keeps?: true;
  /** Tables that a refusal writes to: the record of a failed attempt. */
  records?: readonly string[];
}

const MITIGATION = { hook: 'web-firewall', note: 'test' };
const REASON = { reason: 'test' };
const path = (kind: Kind, body?: object): Naming => (body ? { kind, body: () => body } : { kind });
const byAgent = (kind: Kind, body?: object): Naming => ({ ...path(kind, body), byAgents: true });
const list = (kind: Kind): Naming => ({ kind, nothing: () => ({ items: [], total: 0 }) });
const kept = (naming: Naming): Naming => ({ ...naming, keeps: true });
const fleetwide = (kind: Kind, body: (id: string) => object): Naming => ({ kind, body, byFleet: true });
const bound = (kind: Kind, body: (id: string, host: string) => object): Naming => ({ kind, body });
const CREDENTIAL = { id: 'AAAA', rawId: 'AAAA', type: 'public-key' };
const SAID = { clientDataJSON: 'AAAA', authenticatorData: 'AAAA', signature: 'AAAA' };
const ASSERTION = { ...CREDENTIAL, response: SAID };
const ATTESTATION = { ...CREDENTIAL, response: { clientDataJSON: 'AAAA', attestationObject: 'AAAA' } };
const OS = 'of the operating system, not a row';
const FLEET_ALONE = 'in a request that only admins of the whole fleet may make';
const GRANTED = 'the body is that of POST /api/v1/admin/identity-providers, for admins of the whole fleet';
const provider = (name: string, granted: object) => ({
  ...{ id: name.toLowerCase().replace(/[^a-z0-9]+/g, '-'), name, issuer: 'https://login.example' },
  ...{ client_id: 'x', client_secret: 'x', ...granted },
});
const BESIDE_ACCOUNT =
  'works on an operator with an account, for admins of the whole fleet: sessions.test.ts';
const OFFERED = 'everybody may see the providers to log in by';
const CLIENT = 'a name at the provider, not a row';
const AT_PROVIDER = 'a group at the provider, not of hosts';
const PART = 'part of what the agent reports of itself';
const REPORT = { scanned_at: '2026-11-21T09:00:00Z', complete: true, packages: [], updates: [] };
const DELTA = {
  ...{ base_sha256: 'a'.repeat(64), report_sha256: 'b'.repeat(64), scanned_at: '2026-11-21T09:00:00Z' },
  ...{ package_count: 0, put: [], gone: [], updates: [] },
};
export const CHECK_IN = {
  ...{ agent_version: '1.0.0', boot_id: 'boot', uptime_seconds: 1, received: [], key_set_version: 1 },
  inventory_digest: {},
};
const planReport = (updateId: string) => ({
  sets: [[updateId]],
  plan: { resolved_at: '2026-11-21T09:00:00Z', actions: [{ action: 'remove', name: 'x' }] },
});
const RESTARTS = {
  observed_at: '2026-11-21T09:00:00Z',
  boot_id: 'boot',
  services: { need: 'unknown', stale: [], more_services: 0 },
  reboot: { need: 'unknown', evidence: [], packages: [], livepatch: 'unknown' },
};
const PROBES = { at: '2026-11-21T09:00:00Z', probes: [] };
const SIGNATURE = { keyid: 'ops', sig: Buffer.alloc(64).toString('base64') };
/** Where the attempt is recorded. */
const RECORD = ['events', 'events_head', 'security_events'];
const none = { approved: [], awaiting_plan: [], blocked: [] };
const nobody = { updates: 0, hosts: 0, transactions: 0, unplanned: 0, sets: [] };
const operator = (groups: readonly string[]) => ({
  ...{ username: `new-${groups.join()}`, password: 'a long enough password', role: 'viewer', groups },
});

const statement = (scope: object) => ({
  ...{ vulnerability: 'CVE-2024-1', ecosystem: 'npm', package: 'left-pad', distribution: null },
  ...{ versions: ['1.0.0'], status: 'accepted', justification: null, text: 'test', scope },
  ends_at: '2026-12-01T00:00:00Z',
});
const standing = (scope: object) => ({ ...STANDING, scope });
const some = (named: object) => ({ kind: 'some', groups: [], hosts: [], ...named });
const RINGS_SAME = 'as the groups and hosts of the scope, read by the same function';
const SAME_AS_POST = 'the body is that of POST /api/v1/policies, read by the same function';
const vexDocument = (scope: object) => ({
  ...{ format: 'openvex', scope, ends_at: '2026-12-01T00:00:00Z' },
  document: {
    ...{
      '@context': 'https://openvex.dev/ns/v0.2.0',
      '@id': 'urn:x',
      author: 'x',
      timestamp: 'x',
      version: 1,
    },
    statements: [
      {
        ...{ vulnerability: { name: 'CVE-2024-1' }, products: [{ '@id': 'pkg:npm/left-pad@1.0.0' }] },
        ...{ status: 'not_affected', justification: 'component_not_present' },
      },
    ],
  },
});

const INSTALLED = { ecosystem: 'apt', name: 'demo', version: '1' };

/**
 * What each place of the server's routes names: a kind of row, or in words why none. A place that is missing here
 * fails the test.
 */
export const NAMED: Readonly<Record<string, Naming | string>> = {
  'GET /api/v1/events query agent_id': kept(list('agent')),
  'GET /api/v1/events/:id path id': kept(path('event')),
  'GET /api/v1/evidence query agent_id': kept(path('agent')),
  'GET /api/v1/evidence query group': path('group'),
  'POST /api/v1/admin/signing-keys/:version/use path version': path('signing key'),
  'POST /api/v1/admin/signing-keys/:version/revoke path version': path('signing key'),
  'POST /api/v1/agents/renew body request_id': 'a name that the agent makes up for its own retries',
  'GET /api/v1/agents query group': list('group'),
  'GET /api/v1/agents/:agent_id path agent_id': path('agent'),
  'GET /api/v1/agents/:agent_id/progress path agent_id': path('agent'),
  'GET /api/v1/agents/:agent_id/faults path agent_id': path('agent'),
  'DELETE /api/v1/agents/:agent_id path agent_id': path('agent'),
  'PATCH /api/v1/agents/:agent_id path agent_id': path('agent', { group: 'ours' }),
  'PATCH /api/v1/agents/:agent_id body group': bound('group', (group) => ({ group })),
  'POST /api/v1/agents/:agent_id/revoke path agent_id': path('agent', {}),
  'POST /api/v1/agents/:agent_id/dismiss-clone path agent_id': path('agent', REASON),
  'POST /api/admin/agents/:agent_id/rebind-machine-id path agent_id': path('agent', REASON),
  'POST /api/v1/agents/group body agent_ids[]': {
    kind: 'agent',
    body: (id) => ({ agent_ids: [id], group: 'ours' }),
    nothing: (id) => ({ moved: [], not_found: [id] }),
  },
  'POST /api/v1/agents/tags body agent_ids[]': {
    kind: 'agent',
    body: (id) => ({ agent_ids: [id], set: ['env=prod'], remove: [] }),
    nothing: (id) => ({ changed: [], not_found: [id] }),
  },
  'PUT /api/v1/agents/:agent_id/tags path agent_id': byAgent('agent', { tags: [] }),
  'POST /api/v1/agents/group body group': bound('group', (group, host) => ({
    ...{ agent_ids: [host], group },
  })),
  'POST /api/v1/agents/:agent_id/scan path agent_id': path('agent', {}),
  'POST /api/v1/agents/:agent_id/reboot path agent_id': path('agent', {}),
  'POST /api/v1/agents/:agent_id/restart-services path agent_id': path('agent', {}),
  'POST /api/v1/agents/:agent_id/repair path agent_id': path('agent', { repair_sha256: 'a'.repeat(64) }),
  'POST /api/v1/agents/:agent_id/polling path agent_id': path('agent', { interval_seconds: 60 }),
  'POST /api/v1/agents/register body os.id': OS,
  'POST /api/v1/agents/register body os.version_id': OS,
  'POST /api/v1/admin/registration-tokens body group': bound('group', (group) => ({ label: 'x', group })),
  'GET /api/v1/admin/registration-tokens/:id path id': path('registration token'),
  'DELETE /api/v1/admin/registration-tokens/:id path id': path('registration token'),
  'GET /api/v1/artifacts/divergences/:id path id': path('divergence'),
  'GET /api/v1/artifacts/divergences/:id/sightings path id': path('divergence'),
  'POST /api/v1/artifacts/divergences/decide body decisions[].id': {
    kind: 'divergence',
    body: (id) => ({ decisions: [{ id, accept: 'all' }], ...REASON }),
    nothing: (id) => ({ decided: [], failed: [{ id, reason: 'not_found' }] }),
  },
  'POST /api/v1/artifacts/divergences/:id/decide path id': path('divergence', { accept: 'all', ...REASON }),
  'POST /api/v1/artifacts/divergences/:id/undo path id': path('divergence', REASON),
  'GET /api/v1/artifacts/hosts-set-aside query agent_id': list('host set aside'),
  'POST /api/v1/artifacts/hosts-set-aside/:agent_id/trust path agent_id': path('host set aside', REASON),
  'GET /api/v1/updates query agent_id': list('agent'),
  'GET /api/v1/updates query group': list('group'),
  'GET /api/v1/updates/:id path id': path('update'),
  'GET /api/v1/updates/:id/progress path id': path('update'),
  'GET /api/v1/updates/by-host query agent_id': list('agent'),
  'GET /api/v1/updates/by-host query group': list('group'),
  'GET /api/v1/packages query agent_id': list('agent'),
  'GET /api/v1/packages query group': list('group'),
  'PUT /api/v1/agents/:agent_id/plans path agent_id': {
    kind: 'agent',
    body: (_, __, update) => planReport(update),
    byAgents: true,
  },
  'PUT /api/v1/agents/:agent_id/plans body sets[][]': {
    kind: 'update',
    body: planReport,
    byAgents: true,
  },
  'GET /api/v1/commands query agent_id': kept(list('agent')),
  'GET /api/v1/commands query update_id': kept(list('update')),
  'GET /api/v1/commands query bulk_id':
    'an act on the whole fleet; of its commands each sees those of its hosts',
  'GET /api/v1/commands/:id path id': kept(path('command')),
  'GET /api/v1/commands/:id/progress path id': kept(path('command')),
  'POST /api/v1/commands/:id/cancel path id': kept(path('command')),
  'POST /api/v1/commands/:id/retry path id': kept(path('command')),
  'GET /api/v1/commands/:id/output path id': kept(path('command')),
  'POST /api/v1/agents/:agent_id/commands/:command_id/result path agent_id': byAgent('agent', {
    status: 'success',
  }),
  'POST /api/v1/agents/:agent_id/commands/:command_id/result path command_id': byAgent('command', {
    status: 'success',
  }),
  'POST /api/v1/agents/:agent_id/commands/:command_id/result body updates[].update_id':
    'compared with what the command names; nothing is read by it',
  'POST /api/v1/agents/:agent_id/commands/:command_id/output path agent_id': byAgent('agent', {
    ...{ seq: 1, stream: 'stdout', data: 'x' },
  }),
  'POST /api/v1/agents/:agent_id/commands/:command_id/output path command_id': byAgent('command', {
    ...{ seq: 1, stream: 'stdout', data: 'x' },
  }),
  'POST /api/v1/agents/:agent_id/events path agent_id': byAgent('agent', { events: [] }),
  'PUT /api/v1/agents/:agent_id/inventory/:ecosystem path agent_id': byAgent('agent', REPORT),
  'PUT /api/v1/agents/:agent_id/inventory/:ecosystem path ecosystem': PART,
  'PATCH /api/v1/agents/:agent_id/inventory/:ecosystem path agent_id': byAgent('agent', DELTA),
  'PATCH /api/v1/agents/:agent_id/inventory/:ecosystem path ecosystem': PART,
  'PUT /api/v1/agents/:agent_id/inventory/:ecosystem/parts/:report_sha256/:part path agent_id': byAgent(
    'agent',
    REPORT,
  ),
  'PUT /api/v1/agents/:agent_id/inventory/:ecosystem/parts/:report_sha256/:part path ecosystem': PART,
  'PUT /api/v1/agents/:agent_id/inventory/:ecosystem/parts/:report_sha256/:part path report_sha256': PART,
  'PUT /api/v1/agents/:agent_id/inventory/:ecosystem/parts/:report_sha256/:part path part': PART,
  'GET /api/v1/agents/:agent_id/inventory path agent_id': path('agent'),
  'GET /api/v1/agents/:agent_id/inventory/changes path agent_id': path('agent'),
  'GET /api/v1/agents/:agent_id/inventory/at path agent_id': path('agent'),
  'GET /api/v1/agents/:agent_id/inventory/difference path agent_id': path('agent'),
  'GET /api/v1/agents/:agent_id/sbom path agent_id': path('agent'),
  'GET /api/v1/agents/:agent_id/vex path agent_id': path('agent'),
  'GET /api/v1/sbom query group': path('group'),
  'GET /api/v1/vex query group': path('group'),
  'POST /api/v1/agents/:agent_id/check-in path agent_id': byAgent('agent', CHECK_IN),
  'POST /api/v1/agents/:agent_id/check-in body boot_id': PART,
  'POST /api/v1/agents/:agent_id/check-in body received[]': {
    kind: 'command',
    body: (id) => ({ ...CHECK_IN, received: [id] }),
    nothing: () => ({ commands: [] }),
    byAgents: true,
  },
  'GET /api/v1/bulk/:progress_id path progress_id': path('bulk run'),
  'GET /api/v1/bulk/:progress_id/result path progress_id': path('bulk run'),
  'POST /api/v1/updates/:id/approve path id': path('update', {}),
  'POST /api/v1/updates/approve body update_ids[]': {
    kind: 'update',
    body: (id) => ({ update_ids: [id] }),
    nothing: (id) => ({ ...none, skipped: [{ update_id: id, code: 'not_found' }] }),
  },
  'POST /api/v1/updates/approve body filter.agent_id': {
    kind: 'agent',
    body: (agent_id) => ({ filter: { agent_id }, confirm_count: 0 }),
    nothing: () => ({ ...none, skipped: [] }),
  },
  'POST /api/v1/updates/approve body filter.group': {
    kind: 'group',
    body: (group) => ({ filter: { group }, confirm_count: 0 }),
    nothing: () => ({ ...none, skipped: [] }),
  },
  'POST /api/v1/updates/approve body progress_id': 'a name that the caller makes up for its own request',
  'POST /api/v1/updates/rollback body update_ids[]': {
    kind: 'update',
    body: (id) => ({ update_ids: [id], ...REASON }),
    nothing: (id) => ({ requested: [], skipped: [{ update_id: id, code: 'not_found' }] }),
  },
  'POST /api/v1/updates/rollback body installed.agent_ids[]': {
    kind: 'agent',
    body: (id) => ({ installed: { ...INSTALLED, agent_ids: [id] }, ...REASON }),
    nothing: (id) => ({ requested: [], skipped: [{ agent_id: id, code: 'not_found' }] }),
  },
  'POST /api/v1/updates/preview body update_ids[]': {
    kind: 'update',
    body: (id) => ({ update_ids: [id] }),
    nothing: (id) => ({ ...nobody, left_out: [{ update_id: id, code: 'not_found' }], left_out_count: 1 }),
  },
  'POST /api/v1/updates/preview body filter.agent_id': {
    kind: 'agent',
    body: (agent_id) => ({ filter: { agent_id }, confirm_count: 0 }),
    nothing: () => ({ ...nobody, left_out: [] }),
  },
  'POST /api/v1/updates/preview body filter.group': {
    kind: 'group',
    body: (group) => ({ filter: { group }, confirm_count: 0 }),
    nothing: () => ({ ...nobody, left_out: [] }),
  },
  'POST /api/v1/updates/preview body progress_id': 'a name that the caller makes up for its own request',
  'POST /api/v1/updates/:id/preview path id': path('update'),
  'POST /api/v1/updates/:id/reject path id': path('update', {}),
  'POST /api/v1/updates/:id/reopen path id': path('update', {}),
  'GET /api/v1/updates/:id/decisions path id': kept(path('update')),
  'GET /api/v1/updates/:id/approval path id': kept(path('update')),
  'GET /api/v1/decisions/:id path id': kept(path('decision')),
  'GET /api/v1/decisions/:id/statement path id': kept(path('decision')),
  'POST /api/v1/updates/:id/countersign path id': path('update', SIGNATURE),
  'GET /api/v1/admin/age-exceptions/:id path id': path('age exception'),
  'DELETE /api/v1/admin/age-exceptions/:id path id': path('age exception'),
  'GET /api/v1/admin/vex-statements/:id path id': path('statement'),
  'DELETE /api/v1/admin/vex-statements/:id path id': path('statement'),
  'GET /api/v1/admin/origins/:id path id': path('origin'),
  'DELETE /api/v1/admin/origins/:id path id': path('origin'),
  'GET /api/v1/blackouts/:id path id': path('blackout'),
  'POST /api/v1/blackouts/:id/end path id': path('blackout', { reason: 'test' }),
  'POST /api/v1/blackouts body scope.groups[]': fleetwide('group', (group) => ({
    ...{ ...BLACKOUT, scope: some({ groups: [group] }) },
  })),
  'POST /api/v1/blackouts body scope.hosts[]': fleetwide('agent', (id) => ({
    ...{ ...BLACKOUT, scope: some({ hosts: [id] }) },
  })),
  'GET /api/v1/notifications/channels/:id path id': path('channel'),
  'PUT /api/v1/notifications/channels/:id path id': path('channel', CHANNEL),
  'DELETE /api/v1/notifications/channels/:id path id': path('channel'),
  'POST /api/v1/notifications/channels/:id/test path id': path('channel'),
  'GET /api/v1/notifications/rules/:id path id': path('notification rule'),
  'PUT /api/v1/notifications/rules/:id path id': {
    kind: 'notification rule',
    body: (id) => notificationRule(id),
  },
  'DELETE /api/v1/notifications/rules/:id path id': path('notification rule'),
  'POST /api/v1/notifications/rules body channel_id': FLEET_ALONE,
  'POST /api/v1/notifications/rules body conditions.groups[]': FLEET_ALONE,
  'PUT /api/v1/notifications/rules/:id body channel_id': FLEET_ALONE,
  'PUT /api/v1/notifications/rules/:id body conditions.groups[]': FLEET_ALONE,
  'POST /api/v1/notifications/rules/preview body channel_id': FLEET_ALONE,
  'POST /api/v1/notifications/rules/preview body conditions.groups[]': FLEET_ALONE,
  'GET /api/v1/notifications/deliveries query channel_id': FLEET_ALONE,
  'GET /api/v1/notifications/deliveries query rule_id': FLEET_ALONE,
  'POST /api/v1/notifications/deliveries/resend body ids[]': FLEET_ALONE,
  'POST /api/v1/notifications/deliveries/resend body channel_id': FLEET_ALONE,
  'GET /api/v1/notifications/deliveries/:id path id': path('delivery'),
  'GET /api/v1/notifications/notices/:id path id': path('delivery'),
  'GET /api/v1/holds/:id path id': path('hold'),
  'DELETE /api/v1/holds/:id path id': path('hold'),
  'POST /api/v1/holds body scope.groups[]': fleetwide('group', (group) => ({
    ...{ ...HOLD, scope: some({ groups: [group] }) },
  })),
  'POST /api/v1/holds body scope.hosts[]': fleetwide('agent', (id) => ({
    ...{ ...HOLD, scope: some({ hosts: [id] }) },
  })),
  'GET /api/v1/reboots/:id path id': path('reboot'),
  'GET /api/v1/reboots query agent_id': 'a filter of a list that is for operators of the whole fleet',
  'DELETE /api/v1/reboots/:id path id': path('reboot'),
  'POST /api/v1/reboots body scope.groups[]': fleetwide('group', (group) => ({
    ...{ ...REBOOT_ASK, scope: some({ groups: [group] }) },
  })),
  'POST /api/v1/reboots body scope.hosts[]': fleetwide('agent', (id) => ({
    ...{ ...REBOOT_ASK, scope: some({ hosts: [id] }) },
  })),
  'PUT /api/v1/reboot-slots body group': fleetwide('group', (group) => ({ ...SLOT_LIMITS, group })),
  'POST /v1/pre-reboot body client_params.id':
    'a name that the client makes up, within the group of its token',
  'POST /v1/pre-reboot body client_params.group': 'has to be the group of the token, which is no operator',
  'POST /v1/steady-state body client_params.id':
    'a name that the client makes up, within the group of its token',
  'POST /v1/steady-state body client_params.group': 'has to be the group of the token, which is no operator',
  'POST /api/v1/reboot-slots/:id/release path id': path('reboot slot', REASON),
  // The policy of a made rollout has the same id.
  'GET /api/v1/rollouts query policy': list('rollout'),
  'GET /api/v1/rollouts/:id path id': path('rollout'),
  'GET /api/v1/rollouts/:id/hosts path id': path('rollout'),
  'POST /api/v1/rollouts/:id/halt path id': path('rollout', REASON),
  'POST /api/v1/rollouts/:id/cancel path id': path('rollout', REASON),
  'POST /api/v1/rollouts/:id/resume path id': path('rollout', REASON),
  'POST /api/v1/rollouts/:id/emergency path id': path('rollout', REASON),
  'POST /api/v1/rollouts/:id/rollback path id': path('rollout', { ring: 0, dry_run: true }),
  'POST /api/v1/rollouts/:id/rollback body after': 'where a part begins in the order of ids, not a row',
  'POST /api/v1/rollouts/:id/approve path id': path('rollout', { ring: 0 }),
  ...Object.fromEntries(
    [
      'POST /api/v1/policies',
      'PUT /api/v1/policies/:id',
      'POST /api/v1/policies/backtest',
      'POST /api/v1/policies/preview',
    ].flatMap((route) => [
      [`${route} body rings[].members.groups[]`, RINGS_SAME],
      [`${route} body rings[].members.hosts[]`, RINGS_SAME],
    ]),
  ),
  'GET /api/v1/vulnerabilities/:id path id': path('known vulnerability'),
  'GET /api/v1/vulnerabilities/:id/hosts path id': path('known vulnerability'),
  'PUT /api/v1/unfixed/:id/mitigation path id': path('vulnerability', { mitigation: MITIGATION }),
  'GET /api/v1/policies/:id path id': path('policy'),
  'GET /api/v1/policies/:id/preview path id': path('policy'),
  'GET /api/v1/policies/:id/backtest path id': path('policy'),
  'PUT /api/v1/policies/:id path id': path('policy', {
    ...standing({ kind: 'all' }),
    replaces: '0'.repeat(64),
  }),
  'PUT /api/v1/policies/:id body scope.groups[]': SAME_AS_POST,
  'PUT /api/v1/policies/:id body scope.hosts[]': SAME_AS_POST,
  'DELETE /api/v1/policies/:id path id': path('policy'),
  'POST /api/v1/policies body scope.groups[]': fleetwide('group', (group) =>
    standing(some({ groups: [group] })),
  ),
  'POST /api/v1/policies body scope.hosts[]': fleetwide('agent', (id) => standing(some({ hosts: [id] }))),
  'POST /api/v1/policies/preview body scope.groups[]': fleetwide('group', (group) => ({
    ...{ scope: some({ groups: [group] }), terms: STANDING_TERMS, windows: [] },
  })),
  'POST /api/v1/policies/preview body scope.hosts[]': fleetwide('agent', (id) => ({
    ...{ scope: some({ hosts: [id] }), terms: STANDING_TERMS, windows: [] },
  })),
  'POST /api/v1/policies/backtest body scope.groups[]': fleetwide('group', (group) => ({
    ...{ scope: some({ groups: [group] }), terms: STANDING_TERMS, windows: [] },
  })),
  'POST /api/v1/policies/backtest body scope.hosts[]': fleetwide('agent', (id) => ({
    ...{ scope: some({ hosts: [id] }), terms: STANDING_TERMS, windows: [] },
  })),
  'POST /api/v1/admin/vex-statements body scope.group': fleetwide('group', (group) =>
    statement({ kind: 'group', group }),
  ),
  'POST /api/v1/admin/vex-statements body scope.agent_id': fleetwide('agent', (agent_id) =>
    statement({ kind: 'host', agent_id }),
  ),
  'POST /api/v1/admin/vex-document body scope.group': fleetwide('group', (group) =>
    vexDocument({ kind: 'group', group }),
  ),
  'POST /api/v1/admin/vex-document body scope.agent_id': fleetwide('agent', (agent_id) =>
    vexDocument({ kind: 'host', agent_id }),
  ),
  'DELETE /api/v1/views/:id path id': path('view'),
  'GET /api/v1/agents/:agent_id/approvals/:token_id path agent_id': byAgent('agent'),
  'GET /api/v1/agents/:agent_id/approvals/:token_id path token_id': byAgent('approval'),
  'GET /api/v1/auth/sessions query operator_id': list('operator'),
  'DELETE /api/v1/auth/sessions/:id path id': path('session'),
  'POST /api/v1/auth/step-up body challenge_id': {
    kind: 'challenge',
    body: (challenge_id) => ({ challenge_id, credential: ASSERTION }),
    records: RECORD,
  },
  'POST /api/v1/auth/step-up body credential.id': 'what the challenge is answered with',
  'POST /api/v1/auth/notices/seen body until': {
    kind: 'notice',
    body: (until) => ({ until }),
    nothing: () => ({}),
  },
  'POST /api/v1/auth/passkeys body challenge_id': {
    kind: 'challenge',
    body: (challenge_id) => ({ challenge_id, name: 'x', credential: ATTESTATION }),
    records: RECORD,
  },
  'POST /api/v1/auth/passkeys body credential.id': 'what the challenge is answered with',
  'PATCH /api/v1/auth/passkeys/:id path id': path('passkey', { name: 'x' }),
  'DELETE /api/v1/auth/passkeys/:id path id': path('passkey'),
  'POST /api/v1/auth/login/passkey body challenge_id': {
    kind: 'challenge',
    body: (challenge_id) => ({ challenge_id, credential: ASSERTION }),
    records: RECORD,
  },
  'POST /api/v1/auth/login/passkey body credential.id': 'what the challenge is answered with',
  'POST /api/v1/auth/login/provider body provider_id': OFFERED,
  'POST /api/v1/auth/identities body provider_id': OFFERED,
  'DELETE /api/v1/auth/identities/:id path id': path('identity'),
  'POST /api/v1/admin/identity-providers body id': 'the id of the new provider',
  'POST /api/v1/admin/identity-providers body client_id': CLIENT,
  'POST /api/v1/admin/identity-providers body mapping[].group': AT_PROVIDER,
  'POST /api/v1/admin/identity-providers body mapping[].groups[]': fleetwide('group', (group) =>
    provider(group, { mapping: [{ group: 'x', role: 'viewer', groups: [group] }] }),
  ),
  'POST /api/v1/admin/identity-providers body default_grant.groups[]': fleetwide('group', (group) =>
    provider(`default-${group}`, { default_grant: { role: 'viewer', groups: [group] } }),
  ),
  'PATCH /api/v1/admin/identity-providers/:id body mapping[].groups[]': GRANTED,
  'PATCH /api/v1/admin/identity-providers/:id body default_grant.groups[]': GRANTED,
  'GET /api/v1/admin/identity-providers/:id path id': path('identity provider'),
  'PATCH /api/v1/admin/identity-providers/:id path id': path('identity provider', { name: 'x' }),
  'PATCH /api/v1/admin/identity-providers/:id body client_id': CLIENT,
  'PATCH /api/v1/admin/identity-providers/:id body mapping[].group': AT_PROVIDER,
  'DELETE /api/v1/admin/identity-providers/:id path id': path('identity provider'),
  'POST /api/v1/admin/identity-providers/:id/test path id': path('identity provider'),
  'GET /api/v1/admin/operators/:id/identities path id': path('operator'),
  'POST /api/v1/admin/operators/:id/identities path id': BESIDE_ACCOUNT,
  'POST /api/v1/admin/operators/:id/identities body provider_id': {
    kind: 'identity provider',
    body: (provider_id) => ({ provider_id, subject: 'x' }),
  },
  'DELETE /api/v1/admin/operators/:id/identities/:identity_id path id': BESIDE_ACCOUNT,
  'DELETE /api/v1/admin/operators/:id/identities/:identity_id path identity_id': BESIDE_ACCOUNT,
  'DELETE /api/v1/admin/operators/:id/password path id': BESIDE_ACCOUNT,
  'POST /api/v1/admin/operators body groups[]': fleetwide('group', (group) => operator([group])),
  'GET /api/v1/admin/operators/:id path id': path('operator'),
  'PATCH /api/v1/admin/operators/:id path id': path('operator', { role: 'viewer' }),
  'PATCH /api/v1/admin/operators/:id body groups[]': fleetwide('group', (group) => ({ groups: [group] })),
  'DELETE /api/v1/admin/operators/:id path id': path('operator'),
  'DELETE /api/v1/admin/operators/:id/factors path id': path('operator'),
  'DELETE /api/v1/admin/operators/:id/sessions path id': path('operator'),
  'POST /api/v1/admin/api-tokens body groups[]': fleetwide('group', (group) => ({
    ...{ label: `for ${group}`, role: 'viewer', groups: [group], expires_at: '2026-11-22T00:00:00Z' },
  })),
  'DELETE /api/v1/admin/api-tokens/:id path id': path('api token'),
  'GET /api/v1/agents/:agent_id/heartbeats path agent_id': path('agent'),
  'PUT /api/v1/agents/:agent_id/restarts path agent_id': byAgent('agent', RESTARTS),
  'PUT /api/v1/agents/:agent_id/restarts body boot_id': PART,
  'POST /api/v1/agents/:agent_id/commands/:command_id/result body restarts.boot_id': PART,
  'POST /api/v1/agents/:agent_id/commands/:command_id/result body boot_id': PART,
  'GET /api/v1/agents/:agent_id/restarts path agent_id': path('agent'),
  'PUT /api/v1/agents/:agent_id/timeliness path agent_id': byAgent('agent', {
    ...{ clock: '2026-11-21T09:00:00Z', lists: {} },
  }),
  'GET /api/v1/agents/:agent_id/withheld path agent_id': path('agent'),
  'PUT /api/v1/agents/:agent_id/probes path agent_id': byAgent('agent', PROBES),
  'GET /api/v1/agents/:agent_id/probes path agent_id': path('agent'),
  'POST /api/v1/agents/:agent_id/probes/run path agent_id': path('agent'),
  'GET /api/v1/agents/:agent_id/state path agent_id': byAgent('agent'),
};
