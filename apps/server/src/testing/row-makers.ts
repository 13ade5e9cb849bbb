import { insertDistrust } from '../artifacts/distrust-store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { sealed } from '../platform/db/row-seals.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { type HostRows, insertHostRows, insertRowsOf } from './foreign-hosts.ts';
import type { Kind } from './named-rows.ts';
import { BLACKOUT, CHANNEL, notificationRule, STANDING } from './standing.ts';
import type { TestApp } from './test-app.ts';

const DAY_MS = 86_400_000;
const REVOKED: 'revoked' | 'expired' = 'revoked';
const NO_ENVELOPE = JSON.stringify({
  payloadType: 'x',
  payload: 'AAAA',
  signatures: [{ keyid: 'k', sig: `${'A'.repeat(86)}==` }],
});
function standingDocument(id: string): string {
  const signed = { v: 1, fleet_id: id, policy_id: id, version: 1 };
  return JSON.stringify({ ...signed, ...STANDING, name: id, author: 'ada', created_at: STANDING.ends_at });
}
/** The id of a row that never existed. */
export const UNKNOWN_ID = '01900000-0000-7000-8000-00000000beef';

export function unknownOf(kind: Kind): string {
  if (kind === 'group') return 'nowhere';
  return kind === 'signing key' ? '999' : UNKNOWN_ID;
}

const OF_HOST: Partial<Record<Kind, keyof HostRows>> = {
  ...{ agent: 'agentId', update: 'updateId', command: 'commandId', event: 'eventId' },
  ...{ decision: 'decisionId', approval: 'tokenId', 'registration token': 'registrationTokenId' },
};

export function idOfHost(kind: Kind, rows: HostRows): string {
  const member = OF_HOST[kind];
  if (member === undefined) throw new Error(`a row of the kind ${kind} belongs to no host`);
  return rows[member];
}

/** Numbers of hosts; each gives different ids. */
let hosts = 0;

/** A new host of this group, with a row of each kind. */
export async function makeHost(app: TestApp, group: string | null): Promise<HostRows> {
  const rows = await insertHostRows(app.platform, { n: ++hosts, group });
  await sealApproval(app, rows);
  return rows;
}

/** Rows of a host that has enrolled, its command delivered. */
export async function makeRowsOf(app: TestApp, agentId: string): Promise<HostRows> {
  const { database, now } = app.platform;
  const rows = await insertRowsOf(app.platform, { agentId, n: ++hosts, group: 'ours' });
  await sealApproval(app, rows);
  const sent = { status: 'sent', sent_at: now() };
  await database.transact((tx) =>
    tx.updateTable('agent_commands').set(sent).where('id', '=', rows.commandId).execute(),
  );
  return rows;
}

/** Gives the approval the form of an envelope; these tests do not verify its signature. */
async function sealApproval({ platform: { database } }: TestApp, { tokenId }: HostRows): Promise<void> {
  const envelope = JSON.stringify({
    payloadType: 'x',
    payload: 'AA==',
    signatures: [{ keyid: 'k', sig: 'AA==' }],
  });
  await database.transact((tx) =>
    tx.updateTable('approvals').set({ envelope }).where('token_id', '=', tokenId).execute(),
  );
}

export interface Asked {
  kind: Kind;
  /** The operator whose row it is, for kinds that belong to operators. */
  operatorId: string;
  /** Ended, withdrawn or expired long ago. */
  isOver?: boolean;
  /** Of a view: for all operators. */
  isShared?: boolean;
}

/** Writes a row of the whole fleet or of an operator, and returns its name in requests. */
export async function makeRow(app: TestApp, asked: Asked): Promise<string> {
  if (asked.kind === 'host set aside') {
    const { agentId } = await makeHost(app, 'ours');
    const set = { agentId, role: 'newcomer', nowMs: app.platform.now() } as const;
    await app.platform.database.transact((tx) => insertDistrust(tx, set));
    return agentId;
  }
  if (asked.kind === 'reboot' || asked.kind === 'reboot slot')
    return makeReboot(app, asked.kind, asked.isOver);
  if (asked.kind === 'signing key') return makeKey(app);
  const id = app.platform.newId();
  await app.platform.database.transact((tx) => insertRow(tx, app, { ...asked, id }));
  return id;
}

/** A host that waits for a reboot, or one that failed and has its slot. */
async function makeReboot(app: TestApp, kind: 'reboot' | 'reboot slot', isOver = false): Promise<string> {
  const { database, newId, now } = app.platform;
  const [{ agentId: agent_id }, id, nowMs] = [await makeHost(app, 'ours'), newId(), now()];
  const ended_at = isOver ? nowMs - DAY_MS : null;
  const of = { id, agent_id, boot_id: 'boot' };
  const asked = { kind: 'reboot', units: null, warn_minutes: 5, reason: 'test', asked_by: 'ada' } as const;
  const times = { asked_at: nowMs, deadline_at: nowMs + DAY_MS, not_before: nowMs, ended_at };
  const state: 'expired' | 'queued' = isOver ? 'expired' : 'queued';
  const slot: 'ended' | 'failed' = isOver ? 'ended' : 'failed';
  await database.transact((tx) =>
    kind === 'reboot'
      ? tx
          .insertInto('host_reboots')
          .values(sealed(tx, 'host_reboots', { ...of, ...asked, ...times, state, attempts: 0 }))
          .execute()
      : tx
          .insertInto('reboot_slots')
          .values({
            ...{ ...of, group_name: 'ours', command_id: id, state: slot },
            ...{ taken_at: nowMs, ends_at: nowMs, ended_at },
          })
          .execute(),
  );
  return id;
}

async function makeKey({ platform: { database, newId, random, now } }: TestApp): Promise<string> {
  const newest = await database.read
    .selectFrom('signing_keys')
    .select('version')
    .orderBy('version', 'desc')
    .executeTakeFirstOrThrow();
  const version = newest.version + 1;
  const key = {
    key_id: newId(),
    version,
    public_key_hex: random(32).toString('hex'),
    status: 'active',
  } as const;
  const state = { created_at: now(), revoked_at: null, in_use: 0, first_key_set_version: 1 };
  await database.transact((tx) =>
    tx
      .insertInto('signing_keys')
      .values({ ...key, ...state })
      .execute(),
  );
  return String(version);
}

async function insertRow(tx: Tx, { platform }: TestApp, asked: Asked & { id: string }): Promise<void> {
  const { kind, id, operatorId: operator_id, isOver = false, isShared = false } = asked;
  const nowMs = platform.now();
  const overAt = isOver ? nowMs - DAY_MS : null;
  const expires_at = isOver ? nowMs - 1 : nowMs + DAY_MS;
  const made = { created_at: nowMs - 2 * DAY_MS };
  switch (kind) {
    case 'operator': {
      if (isOver) return;
      const row = {
        id,
        username: `operator-${id}`,
        password_hash: 'x',
        role: 'viewer',
        groups: null,
      } as const;
      await tx
        .insertInto('operators')
        .values(sealed(tx, 'operators', { ...row, ...made, disabled_at: null }))
        .execute();
      return;
    }
    case 'api token': {
      const secret = {
        label: id,
        secret_hash: `hash-${id}`,
        role: 'viewer',
        groups: null,
        scopes: null,
      } as const;
      const times = { expires_at: nowMs + DAY_MS, last_used_at: null, revoked_at: overAt };
      const row = { id, operator_id, ...secret, created_by: 'ada', ...made, ...times };
      await tx
        .insertInto('api_tokens')
        .values(sealed(tx, 'api_tokens', row))
        .execute();
      return;
    }
    case 'age exception': {
      const what = {
        ecosystem: 'npm',
        name: 'left-pad',
        version: '1.0.0',
        reason: 'test',
        created_by: 'ada',
      };
      const row = { id, ...what, ...made, expires_at: nowMs + DAY_MS, deleted_at: overAt };
      await tx
        .insertInto('age_exceptions')
        .values(sealed(tx, 'age_exceptions', row))
        .execute();
      return;
    }
    case 'statement': {
      const row = {
        ...{
          id,
          sha256: 'a'.repeat(64),
          envelope: NO_ENVELOPE,
          vulnerability: 'CVE-2024-1',
          ecosystem: 'npm',
        },
        ...{ name: 'left-pad', distribution: null, versions: '["1.0.0"]', scope: '{"kind":"all"}' },
        ...{
          status: 'accepted',
          justification: null,
          text: 'test',
          imported: null,
          created_by: 'ada',
          ...made,
        },
        ...{ ends_at: nowMs + DAY_MS, ended_at: overAt, end_reason: overAt === null ? null : REVOKED },
        ended_by: null,
      } as const;
      await tx
        .insertInto('vex_statements')
        .values(sealed(tx, 'vex_statements', row))
        .execute();
      return;
    }
    case 'origin': {
      const row = {
        ...{
          id,
          sha256: 'a'.repeat(64),
          envelope: NO_ENVELOPE,
          ecosystem: 'apt',
          signing_key: 'a'.repeat(40),
        },
        ...{ suites: '["Docker CE:bookworm"]', rule: 'allow', min_age_days: null, reason: 'test' },
        ...{ created_by: 'ada', ...made, ends_at: nowMs + DAY_MS, ended_at: overAt, ended_by: null },
        end_reason: overAt === null ? null : REVOKED,
      } as const;
      await tx
        .insertInto('origins')
        .values(sealed(tx, 'origins', row))
        .execute();
      return;
    }
    case 'policy': {
      const row = {
        ...{ sha256: sha256Hex(Buffer.from(id)), policy_id: id, version: 1, name: id },
        ...{ document: standingDocument(id), envelope: NO_ENVELOPE, author_id: 'ada', author: 'ada' },
        ...{ created_at: nowMs, ends_at: nowMs + DAY_MS, ended_at: overAt, ended_by: null },
        end_reason: overAt === null ? null : REVOKED,
      } as const;
      await tx
        .insertInto('policies')
        .values(sealed(tx, 'policies', row))
        .execute();
      return;
    }
    case 'blackout': {
      const content = {
        name: id,
        reason: 'test',
        scope: '{"kind":"all"}',
        times: JSON.stringify(BLACKOUT.times),
      };
      const end = { ended_at: overAt, ended_by: overAt === null ? null : 'ada', end_reason: null };
      await tx
        .insertInto('blackouts')
        .values({ id, ...content, over_at: nowMs + DAY_MS, created_by: 'ada', created_at: nowMs, ...end })
        .execute();
      return;
    }
    case 'channel':
    case 'notification rule':
    case 'delivery':
      return insertNotificationRow(tx, { kind, id, nowMs });
    case 'hold': {
      const content = {
        ecosystems: '["apt"]',
        packages: '["openssl"]',
        scope: '{"kind":"all"}',
        reason: 'test',
      };
      const end = { ends_at: nowMs + DAY_MS, ended_at: overAt, ended_by: overAt === null ? null : 'ada' };
      await tx
        .insertInto('holds')
        .values({ id, ...content, created_by: 'ada', created_at: nowMs, ...end, enforced_at: null })
        .execute();
      return;
    }
    case 'rollout': {
      const sha256 = sha256Hex(Buffer.from(`rings of ${id}`));
      const policy = {
        ...{ sha256, policy_id: id, version: 1, name: id, document: standingDocument(id) },
        ...{ envelope: NO_ENVELOPE, author_id: 'ada', author: 'ada', created_at: nowMs },
        ...{ ends_at: nowMs + DAY_MS, ended_at: nowMs, ended_by: null, end_reason: REVOKED },
      };
      await tx
        .insertInto('policies')
        .values(sealed(tx, 'policies', policy))
        .execute();
      const lane = { lane: 'wave', state: overAt === null ? 'running' : 'cancelled' } as const;
      const rollout = {
        ...{ id, policy_id: id, policy_sha256: sha256, members_sha256: sha256, ring: 0 },
        ...{ ...lane, entered: `[${nowMs}]`, started_at: nowMs, withdrawn: 0, ended_at: overAt },
      };
      await tx.insertInto('rollouts').values(rollout).execute();
      return;
    }
    case 'vulnerability': {
      const what = { ecosystem: 'npm', distribution: 'npm', package: 'left-pad', vulnerability: id };
      const counted = { names: '[]', packages: '["left-pad"]', hosts: 1, pending: 0, first_seen_at: nowMs };
      const known = {
        severity: null,
        exploited: null,
        fixed_in: null,
        fix_known_at: null,
        fix_offered_at: null,
      };
      const noted = { hook: null, note: null, mitigated_by: null, mitigated_at: null };
      await tx
        .insertInto('unfixed')
        .values({ id, ...what, ...counted, gone_at: overAt, ...known, ...noted })
        .execute();
      return;
    }
    case 'known vulnerability': {
      const told = { names: '[]', covers: '[]', summary: '', packages: '[]', search: '', digest: '' };
      const rated = { severity: null, exploited: null, epss: null, urgency: 0 };
      const counted = { hosts: 1, fixable: 0, waiting: 0, first_seen_at: nowMs, gone_at: overAt };
      await tx
        .insertInto('vulnerabilities')
        .values({ id, ...told, ...rated, ...counted })
        .execute();
      const name = { name: id.toUpperCase(), vulnerability_id: id };
      await tx.insertInto('vulnerability_names').values(name).execute();
      return;
    }
    case 'divergence': {
      const what = { ecosystem: 'npm', scope: 'npm', name: id, version: '1.0.0', variant: '' };
      const state = { algorithm: 'sha256', state: 'open', hash_count: 0, opened_at: nowMs } as const;
      await tx
        .insertInto('artifact_divergences')
        .values({ id, ...what, ...state })
        .execute();
      return;
    }
    case 'session': {
      const from = { csrf_hash: 'x', address: '127.0.0.1', method: 'password', user_agent: 'test' } as const;
      const proven = { last_used_at: nowMs, second_factor_at: null, password_at: null };
      const rules = { password_is_long: 1, factor_due_at: null };
      const row = { id, operator_id, ...from, ...made, expires_at: nowMs + DAY_MS, ...proven, ...rules };
      await tx
        .insertInto('operator_sessions')
        .values(sealed(tx, 'operator_sessions', { ...row, revoked_at: overAt }))
        .execute();
      return;
    }
    case 'passkey': {
      if (isOver) return;
      const key = {
        credential_id: `credential-${id}`,
        public_key: 'AAAA',
        sign_count: 0,
        rp_id: 'localhost',
      };
      const row = { id, operator_id, ...key, transports: '[]', backed_up: 0, name: 'key', ...made };
      await tx
        .insertInto('operator_passkeys')
        .values(sealed(tx, 'operator_passkeys', { ...row, last_used_at: null }))
        .execute();
      return;
    }
    case 'identity provider': {
      if (!isOver) await insertProviderRow(tx, { id, nowMs });
      return;
    }
    case 'identity': {
      if (isOver) return;
      await insertProviderRow(tx, { id: `of-${id}`, nowMs });
      const account = { provider_id: `of-${id}`, issuer: 'https://login.example', subject: id };
      const row = { id, operator_id, ...account, created_by: 'ada', ...made, lost_at: null };
      await tx
        .insertInto('operator_identities')
        .values(sealed(tx, 'operator_identities', { ...row, last_used_at: null }))
        .execute();
      return;
    }
    case 'view': {
      if (isOver) return;
      const row = { id, operator_id, created_by: 'ada', name: id, page: 'hosts', query: '{}', ...made };
      await tx
        .insertInto('saved_views')
        .values({ ...row, shared: isShared ? 1 : 0 })
        .execute();
      return;
    }
    case 'bulk run': {
      const counts = { done: 1, total: 1, approved: 0, blocked: 0, waiting: 0, skipped: 1 };
      const answer = JSON.stringify({ approved: [], awaiting_plan: [], blocked: [], skipped: [] });
      const at = overAt ?? nowMs;
      const run = { operator_id, progress_id: id, state: 'done', ...counts, answer } as const;
      await tx
        .insertInto('bulk_runs')
        .values({ ...run, started_at: at, updated_at: at })
        .execute();
      return;
    }
    case 'notice': {
      const what = { kind: 'password_changed', subject: null, actor: 'ada', address: null } as const;
      const row = { id, operator_id, ...what, ...made, seen_at: overAt };
      await tx.insertInto('operator_notices').values(row).execute();
      return;
    }
    case 'challenge': {
      const of = { purpose: 'step_up', operator_id, session_id: null, challenge: 'AAAA' } as const;
      const row = { id, ...of, rp_id: 'localhost', origin: 'http://localhost', ...made, expires_at };
      await tx
        .insertInto('passkey_challenges')
        .values(sealed(tx, 'passkey_challenges', row))
        .execute();
      return;
    }
    default:
      throw new Error(`no row of the kind ${kind} is the fleet's or an operator's`);
  }
}

async function insertNotificationRow(
  tx: Tx,
  { kind, id, nowMs }: { kind: 'channel' | 'notification rule' | 'delivery'; id: string; nowMs: number },
): Promise<void> {
  await tx
    .insertInto('notification_channels')
    .values({
      ...{ id, name: `Channel ${id}`, config: JSON.stringify(CHANNEL.config), sealed_secret: null },
      ...{ receiver_key: null, is_enabled: 0, failures: 0, paused_until: 0, last_attempt: null },
      ...{ created_by: 'ada', created_at: nowMs, updated_at: nowMs },
    })
    .execute();
  const { conditions, mode } = notificationRule(id);
  if (kind === 'notification rule') {
    const what = { conditions: JSON.stringify(conditions), quiet_hours: null, mode: JSON.stringify(mode) };
    await tx
      .insertInto('notification_rules')
      .values({
        ...{ id, name: `Rule ${id}`, channel_id: id, is_enabled: 1, ...what, position: 0 },
        ...{ next_digest_at: null, created_by: 'ada', created_at: nowMs, updated_at: nowMs },
      })
      .execute();
  }
  if (kind === 'delivery') {
    const told = { id, subject: 'test', severity: 'info', summary: 'test', sections: [], link: null };
    await tx
      .insertInto('notification_deliveries')
      .values({
        ...{ id, channel_id: id, rule_id: null, rule_name: null, kind: 'events', state: 'dead', events: 0 },
        message: JSON.stringify({ ...told, at: '2026-11-21T09:00:00Z', payload: {} }),
        ...{ update_ids: '[]', left_out: 0, attempts: 1, attempts_max: 1, next_attempt_at: nowMs },
        ...{ leased_until: 0, created_at: nowMs, ended_at: nowMs },
      })
      .execute();
  }
}

async function insertProviderRow(tx: Tx, { id, nowMs }: { id: string; nowMs: number }): Promise<void> {
  const row = {
    ...{ id, name: id, issuer: 'https://login.example', client_id: 'x', sealed_secret: 'x' },
    client_auth: 'client_secret_basic',
    ...{ scopes: '["openid"]', group_claim: 'groups' },
    ...{ username_claim: 'sub', mapping: '[]', default_grant: null, creates_operators: 0 },
    ...{ factor_values: '[]', acr_values: null, enabled: 0, created_by: 'ada' },
    ...{ created_at: nowMs, changed_at: nowMs },
  } as const;
  await tx
    .insertInto('identity_providers')
    .values(sealed(tx, 'identity_providers', row))
    .execute();
}
