import { createHash } from 'node:crypto';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { RecordedDecision } from '@tidegate/protocol/decisions-api';
import { APPROVAL_TYPE, ApprovalPayload, CHECKPOINT_TYPE, KEYSET_TYPE } from '@tidegate/protocol/documents';
import { generatePrivateKeyHex, loadSigningKey, signEnvelope } from '@tidegate/signing/sign';
import { Compile } from 'typebox/compile';
import { hashOfEvent } from '../apps/server/src/events/append-event.ts';
import { CHECKPOINT_ROWS } from '../apps/server/src/events/checkpoint-rules.ts';
import { MIGRATIONS } from '../apps/server/src/migrations.ts';
import { chunks } from '../apps/server/src/platform/db/chunks.ts';
import type { Database, Tx } from '../apps/server/src/platform/db/engine.ts';
import { migrate } from '../apps/server/src/platform/db/migrate.ts';
import { sealed } from '../apps/server/src/platform/db/row-seals.ts';
import type { Tables } from '../apps/server/src/platform/db/tables.ts';
import { insertInstalled } from '../apps/server/src/testing/installed-rows.ts';

export interface YearSize {
  readonly hosts: number;
  /** Updates of a host. */
  readonly updates: number;
  /** Events of other hosts, which a bundle withholds. */
  readonly others: number;
}

/** Updates of one approval, and so of one transaction on a host. */
const SET = 20;
const DAY_MS = 86_400_000;
export const YEAR_MS = 365 * DAY_MS;
export const YEAR_START_MS = Date.parse('2026-01-01T00:00:00Z');
export const YEAR_GROUP = 'web';
export const YEAR_FLEET = '01900000-0000-7000-8000-0000000000f1';
const KEY_ID = '01900000-0000-7000-8000-0000000000e1';
export const yearKey = loadSigningKey({
  keyId: KEY_ID,
  privateKeyHex: generatePrivateKeyHex(Buffer.alloc(32, 1)),
});

/** Packages on each host; one in `VULNERABLE_EVERY` has known vulnerabilities. */
const PACKAGES = 1_500;
const VULNERABLE_EVERY = 10;
/** A kernel has the most. */
const KERNEL_VULNERABILITIES = 1_500;
const TO_VERSION = '1.2.3-1+deb12u2';
const FROM_VERSION = '1.2.3-1';
/** One set in so many waits at the end of the year: the gate stopped it. */
const STOPPED_EVERY = 20;
const SEVERITIES = ['CRITICAL', 'HIGH', 'MEDIUM', 'LOW'] as const;
const approvals = Compile(ApprovalPayload);
const decisions = Compile(RecordedDecision);
/** Rows of one statement: columns times rows are bound values. */
const ROWS = 500;

/** A year of a group's hosts: each day brings updates, which are approved and installed some days later. */
export async function makeYear(database: Database, size: YearSize): Promise<void> {
  await migrate(database, { migrations: MIGRATIONS, now: () => YEAR_START_MS });
  await database.transact(async (tx) => {
    await addKeys(tx);
    await addAdvisories(tx);
  });
  const acts: Act[] = [];
  for (let host = 0; host < size.hosts; host++) {
    await database.transact(async (tx) => {
      await addHost(tx, host);
      acts.push(...(await addUpdates(tx, host, size.updates)));
    });
  }
  await addEvents(database, acts, size);
}

/** What an event tells of. */
interface Act {
  readonly ms: number;
  readonly type: string;
  readonly agentId: string;
  readonly content: string;
}

export function signYear(type: string, bytes: Uint8Array) {
  return signEnvelope(yearKey, type, bytes);
}

async function addKeys(tx: Tx): Promise<void> {
  const issued = timeOf(YEAR_START_MS);
  const payload = {
    ...{ v: 1, fleet_id: YEAR_FLEET, version: 1, issued_at: issued },
    expires_at: timeOf(YEAR_START_MS + 90 * DAY_MS),
    keys: [
      {
        ...{ key_id: KEY_ID, version: 1, public_key_hex: yearKey.publicKeyHex, status: 'active' },
        ...{ created_at: issued, revoked_at: null },
      },
    ],
  };
  const envelope = JSON.stringify(signYear(KEYSET_TYPE, Buffer.from(JSON.stringify(payload))));
  const row = {
    version: 1,
    envelope,
    signed_by: KEY_ID,
    issued_at: YEAR_START_MS,
    expires_at: YEAR_START_MS,
  };
  await tx.insertInto('key_sets').values(row).execute();
}

/** Records of the size of Debian's, and what they say of each package. */
async function addAdvisories(tx: Tx): Promise<void> {
  const at = YEAR_START_MS + YEAR_MS;
  const idsOf = (n: number) => {
    if (n % VULNERABLE_EVERY !== 0) return [];
    return Array.from({ length: n === 0 ? KERNEL_VULNERABILITIES : 5 }, (_, i) => `DEBIAN-CVE-${n}-${i}`);
  };
  const packages = Array.from({ length: PACKAGES }, (_, n) => ({ name: nameOf(n), ids: idsOf(n) }));
  const checks = packages.flatMap(({ name, ids }) =>
    [TO_VERSION, FROM_VERSION].map((version) => ({
      ...({
        ecosystem: 'Debian:12',
        name,
        version,
        verdict: ids.length > 0 ? 'vulnerable' : 'clear',
      } as const),
      ...{ reason: null, advisory_ids: JSON.stringify(ids), checked_at: at, source: 'osv', snapshot: null },
    })),
  );
  for (const some of chunks(checks, ROWS)) await tx.insertInto('advisory_checks').values(some).execute();
  const records = packages.flatMap(({ name, ids }) =>
    ids.map((id) => {
      const affected = Array.from({ length: 40 }, () => ({
        package: { ecosystem: 'Debian:12', name },
        ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '1.2.3-1+deb12u3' }] }],
      }));
      const record = { id, modified: timeOf(at), summary: 'An overflow.', upstream: [id.slice(7)], affected };
      return { id, modified: timeOf(at), record: JSON.stringify(record), fetched_at: at };
    }),
  );
  for (const some of chunks(records, ROWS)) await tx.insertInto('advisories').values(some).execute();
}

async function addHost(tx: Tx, host: number): Promise<void> {
  const id = hostId(host);
  await tx
    .insertInto('agents')
    .values({
      ...{ id, status: 'active', hostname: `web-${host}.example.org`, os_family: 'linux' },
      ...{ os_id: 'debian', os_version_id: '12', os_arch: 'amd64', agent_version: '1.0.0' },
      ...{ group_name: YEAR_GROUP, enrolled_at: YEAR_START_MS, machine_id: null, boot_id: null },
      ...{ uptime_seconds: null, key_set_version: 1, next_seq: 1, inventory_digests: '' },
      ...{ polling_interval_seconds: null, bound_at: null, revoked_at: null, deleted_at: null },
    })
    .execute();
  const at = YEAR_START_MS + YEAR_MS - DAY_MS;
  await tx
    .insertInto('inventory_reports')
    .values({
      ...{ agent_id: id, ecosystem: 'apt', digest: sha(id), scanned_at: at, received_at: at, complete: 1 },
      ...{ package_count: PACKAGES, writing: null, condition: null },
    })
    .execute();
  const packages = Array.from({ length: PACKAGES }, (_, n) => ({
    ...{ agent_id: id, ecosystem: 'apt', name: nameOf(n), arch: 'amd64', version: TO_VERSION, held: 0 },
    ...{ source_name: nameOf(n), source_version: TO_VERSION, origin: 'Debian:bookworm-security' },
  }));
  await insertInstalled(tx, packages);
}

/** All updates of a host with what came of them; returns what the log tells of them. */
async function addUpdates(tx: Tx, host: number, count: number): Promise<Act[]> {
  const sets = Array.from({ length: count / SET }, (_, set) => rowsOf(tx, { host, set, count }));
  const each = <T>(of: (rows: (typeof sets)[number]) => readonly T[]) => chunks(sets.flatMap(of), ROWS);
  for (const rows of each(({ plan }) => [plan])) await tx.insertInto('update_plans').values(rows).execute();
  for (const rows of each(({ updates }) => updates)) await tx.insertInto('updates').values(rows).execute();
  for (const rows of each(({ approvals }) => approvals))
    await tx.insertInto('approvals').values(rows).execute();
  for (const rows of each(({ approved }) => approved))
    await tx.insertInto('approval_updates').values(rows).execute();
  for (const rows of each(({ decision }) => [decision]))
    await tx.insertInto('decisions').values(rows).execute();
  for (const rows of each(({ decided }) => decided))
    await tx.insertInto('decision_updates').values(rows).execute();
  for (const rows of each(({ commands }) => commands))
    await tx.insertInto('agent_commands').values(rows).execute();
  for (const rows of each(({ commanded }) => commanded))
    await tx.insertInto('command_updates').values(rows).execute();
  for (const rows of each(({ history }) => history))
    await tx.insertInto('update_history').values(rows).execute();
  return sets.flatMap(({ acts }) => acts);
}

/** One approval of some updates: what the server keeps of it, as its own slices write it. */
function rowsOf(tx: Tx, { host, set, count }: { host: number; set: number; count: number }) {
  const agentId = hostId(host);
  const knownMs = YEAR_START_MS + Math.floor((set * SET * 350 * DAY_MS) / count);
  const atMs = knownMs + (1 + ((set + host) % 9)) * DAY_MS;
  const isStopped = set % STOPPED_EVERY === STOPPED_EVERY - 1;
  const serial = host * 1_000 + set;
  const [planId, decisionId] = [idOf(knownMs, serial, 0xb), idOf(atMs, serial, 0xd)];
  const [tokenId, commandId] = [idOf(atMs, serial, 0xc), idOf(atMs, serial, 0xe)];
  const named = Array.from({ length: SET }, (_, i) => ({
    id: idOf(knownMs, serial * SET + i, 0xf),
    name: nameOf(set * SET + i),
  }));
  const versions = { from_version: FROM_VERSION, to_version: TO_VERSION };
  const actions = named.map(({ name }) => ({
    ...{ action: 'upgrade', name, arch: 'amd64', ...versions, origin: 'Debian:bookworm-security' },
    artifact: {
      ...{ filename: `${name}_${TO_VERSION}_amd64.deb`, size_bytes: 100_000, sha256: sha(name) },
      url: `https://deb.debian.org/debian-security/pool/updates/main/p/${name}/${name}_amd64.deb`,
    },
  }));
  const document = canonicalJson(
    decisionOf({ decisionId, agentId, planId, atMs, named, tokenId: isStopped ? null : tokenId, set }),
  );
  const payload = Buffer.from(JSON.stringify(approvalOf({ tokenId, agentId, planId, atMs, named, actions })));
  const envelope = JSON.stringify(isStopped ? {} : signYear(APPROVAL_TYPE, payload));
  const outcome = isStopped ? ('blocked' as const) : ('minted' as const);
  const ids = named.map(({ id }) => id);
  const done = isStopped ? [] : [tokenId];
  return {
    plan: {
      ...{ id: planId, agent_id: agentId, resolved_at: knownMs, received_at: knownMs },
      ...{ actions: JSON.stringify(actions), plan_sha256: sha(planId) },
    },
    updates: named.map(({ id, name }) => ({
      ...{ id, agent_id: agentId, ecosystem: 'apt', name, arch: 'amd64' },
      ...{
        state: isStopped ? 'pending' : 'installed',
        security: 1,
        plan_id: planId,
        out_of_band: 0,
        fixes: 1,
      },
      ...{ current_version: FROM_VERSION, available_version: TO_VERSION, discovered_at: knownMs },
      ...{ approval_id: isStopped ? null : tokenId, updated_at: atMs },
    })),
    approvals: done.map((token_id) => ({
      ...{ token_id, agent_id: agentId, plan_id: planId, envelope, key_id: KEY_ID, verdict: '{}' },
      ...{ payload_sha256: sha(payload), approved_by: 'ada', issued_at: atMs },
      expires_at: atMs + 7 * DAY_MS,
    })),
    approved: done.flatMap((token_id) => ids.map((update_id) => ({ token_id, update_id, live: 0 }))),
    decision: {
      ...{ id: decisionId, agent_id: agentId, set_sha256: sha(planId), plan_id: planId, outcome },
      ...{ actor: 'ada', token_id: isStopped ? null : tokenId, fingerprint: sha(document), document },
      ...{ document_sha256: sha(document), decided_at: atMs, repeats: 0 },
    },
    decided: ids.map((update_id) => ({ decision_id: decisionId, update_id, stopped: isStopped ? 1 : 0 })),
    commands: done.map((approval_id) =>
      sealed(tx, 'agent_commands', {
        ...{ id: commandId, agent_id: agentId, action: 'install_update', params: '{}', approval_id },
        ...{ approval_sha256: sha(payload), status: 'success', created_by: 'ada', created_at: atMs },
        ...{ not_before: atMs, expires_at: atMs + DAY_MS, finished_at: atMs + 60_000, exit_code: 0 },
        ...{ seq: null, key_id: null, machine_sha256: null, epoch: 1, envelope: null, sent_at: atMs },
        ...{ received_at: atMs, started_at: atMs, reason: null, output_tail: null, changed_at: null },
        ...{ restarts: null, probes: null, hooks: null, answer: null, called_off_at: null, way_back: null },
        installed: JSON.stringify(named.map(({ name }) => ({ name, version: TO_VERSION }))),
      }),
    ),
    commanded: done.flatMap(() => ids.map((update_id) => ({ command_id: commandId, update_id }))),
    history: done.flatMap(() =>
      ids.flatMap((update_id, i) =>
        STEPS.map((to_state, step) => ({
          ...{ id: idOf(atMs, (serial * SET + i) * 3 + step, 0x7), update_id, at: atMs + step },
          ...{ from_state: STEPS[step - 1] ?? 'pending', to_state, reason: null, actor: 'ada' },
        })),
      ),
    ),
    acts: (isStopped ? ['update_approval_blocked'] : ['update_approved', 'update_installed']).map(
      (type, i) => ({
        ...{ ms: atMs + i, type, agentId },
        content: JSON.stringify({ token_id: tokenId, updates: named.slice(0, 10) }),
      }),
    ),
  };
}

const STEPS = ['approved', 'installing', 'installed'];

interface Named {
  readonly id: string;
  readonly name: string;
}

function approvalOf(of: {
  tokenId: string;
  agentId: string;
  planId: string;
  atMs: number;
  named: readonly Named[];
  actions: readonly object[];
}): ApprovalPayload {
  const { tokenId, agentId, planId, atMs, named, actions } = of;
  return approvals.Parse({
    ...{ v: 1, token_id: tokenId, fleet_id: YEAR_FLEET, agent_id: agentId, ecosystem: 'apt', actions },
    updates: named.map(({ id, name }) => ({
      ...{ update_id: id, name, from_version: FROM_VERSION, to_version: TO_VERSION },
    })),
    plan_sha256: sha(planId),
    verdict: {
      ...{ vulnerability: 'clear', age: 'not_applicable', checked_at: timeOf(atMs) },
      ...{ source: 'osv', snapshot: null },
    },
    ...{ override: null, issued_at: timeOf(atMs), expires_at: timeOf(atMs + 7 * DAY_MS) },
  });
}

function decisionOf(of: {
  decisionId: string;
  agentId: string;
  planId: string;
  atMs: number;
  named: readonly Named[];
  tokenId: string | null;
  set: number;
}): RecordedDecision {
  const { decisionId, agentId, planId, atMs, named, tokenId, set } = of;
  const none = { total: 0, items: [] };
  const fixes = named.map(({ id, name }, i) => ({
    ...{ id: `DEBIAN-CVE-${set}-${i}`, package: name, version: TO_VERSION, aliases: [id] },
    ...{
      severity: SEVERITIES[(set + i) % SEVERITIES.length] ?? null,
      summary: 'An overflow in the reader of images.',
    },
  }));
  return decisions.Parse({
    ...{ v: 1, id: decisionId, gate_version: 9, decided_at: timeOf(atMs), via: 'approve', actor: 'ada' },
    ...{ approved_by: 'ada', agent_id: agentId, plan: { id: planId, plan_sha256: sha(planId) } },
    updates: named.map((each) => ({
      ...each,
      arch: 'amd64',
      from_version: FROM_VERSION,
      to_version: TO_VERSION,
    })),
    policy: { age_mode: 'block', vulnerabilities: 'any', uncovered: 'block' },
    request: { by: 'operator', override: false, override_reason: null },
    facts: {
      ...{ ecosystem: 'apt', advisories: 'judged' },
      judged: {
        closure: {
          ...{ verdict: tokenId === null ? 'vulnerable' : 'clear', unchecked: null, findings: none },
          ...{ fixed: { total: fixes.length, items: fixes }, missing: { after: 0, before: 0 } },
          ...{ checked_at_ms: atMs, source: 'osv', snapshot: null },
        },
        age: {
          ...{ status: 'not_applicable', minimum_hours: 72, pending: false },
          ...{ violations: none, times: none, excepted: none },
        },
        divergences: none,
      },
    },
    verdict:
      tokenId === null
        ? { kind: 'blocked', stop: { by: 'closure', reason: 'vulnerable' }, overridable: true }
        : { kind: 'mint', waived: null, warnings: [] },
    ...{ outcome: tokenId === null ? 'blocked' : 'minted', outcome_reason: null, token_id: tokenId },
  });
}

/** The log in the order of its times, between events of other hosts, with a checkpoint after each 1,000. */
async function addEvents(database: Database, acts: Act[], { others }: YearSize): Promise<void> {
  for (let n = 0; n < others; n++) {
    const agentId = idOf(YEAR_START_MS, n % 10_000, 0x9);
    const ms = YEAR_START_MS + Math.floor((n * 360 * DAY_MS) / others);
    acts.push({ ms, type: 'update_installed', agentId, content: JSON.stringify({ token_id: agentId, n }) });
  }
  acts.sort((a, b) => a.ms - b.ms);
  let position = 0;
  let hash: string | null = null;
  for (const some of chunks(acts, CHECKPOINT_ROWS)) {
    const rows: Tables['events'][] = some.map(({ ms, type, agentId, content }) => {
      position++;
      const row = {
        ...{ position, id: idOf(ms, position, 0x8), kind: 'system' as const, type, severity: 'info' },
        ...{ component: 'approvals', agent_id: agentId, actor: 'ada', content, created_at: ms },
        previous_hash: hash,
      };
      hash = hashOfEvent(row);
      return { ...row, hash };
    });
    await database.transact(async (tx) => {
      for (const part of chunks(rows, ROWS)) await tx.insertInto('events').values(part).execute();
      const last = rows.at(-1);
      if (last) await addCheckpoint(tx, last);
    });
  }
}

async function addCheckpoint(tx: Tx, { position, hash, created_at: at }: Tables['events']): Promise<void> {
  const payload = { v: 1, fleet_id: YEAR_FLEET, epoch: 1, position, hash, created_at: timeOf(at) };
  const envelope = JSON.stringify(signYear(CHECKPOINT_TYPE, Buffer.from(JSON.stringify(payload))));
  await tx
    .insertInto('event_checkpoints')
    .values({ position, hash, epoch: 1, envelope, created_at: at })
    .execute();
  await tx.updateTable('events_head').set({ position, hash }).execute();
}

function hostId(host: number): string {
  return idOf(YEAR_START_MS, host, 0xa);
}

function nameOf(n: number): string {
  return `package-${n}`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function idOf(ms: number, n: number, kind: number): string {
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8${kind.toString(16).padStart(3, '0')}-${n.toString(16).padStart(12, '0')}`;
}

function sha(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex');
}
