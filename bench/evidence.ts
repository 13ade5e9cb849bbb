import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { APPROVAL_TYPE, CHECKPOINT_TYPE, KEYSET_TYPE } from '@tidegate/protocol/documents';
import { generatePrivateKeyHex, loadSigningKey, signEnvelope } from '@tidegate/signing/sign';
import { tmpDir } from '@tidegate/testkit/tmp';
import { hashOfEvent } from '../apps/server/src/events/append-event.ts';
import { verifyBundle } from '../apps/server/src/evidence/verify-bundle.ts';
import { writeBundle } from '../apps/server/src/evidence/write-bundle.ts';
import { MIGRATIONS } from '../apps/server/src/migrations.ts';
import type { Tx } from '../apps/server/src/platform/db/engine.ts';
import { migrate } from '../apps/server/src/platform/db/migrate.ts';
import { sealed } from '../apps/server/src/platform/db/row-seals.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import type { Tables } from '../apps/server/src/platform/db/tables.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import type { BenchOptions } from './run.ts';

const HOSTS = 300;
const UPDATES_OF_HOST = 2_000;
/** Updates of one approval, and so of one transaction on a host. */
const SET = 20;
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
const START_MS = Date.parse('2026-01-01T00:00:00Z');
const FLEET = '01900000-0000-7000-8000-0000000000f1';
const KEY_ID = '01900000-0000-7000-8000-0000000000e1';
const key = loadSigningKey({ keyId: KEY_ID, privateKeyHex: generatePrivateKeyHex(Buffer.alloc(32, 1)) });

/** A bundle of a year of 300 hosts with 2,000 updates each, and its verification: time, memory, delay of the event loop. */
export async function benchEvidence(_options: BenchOptions): Promise<Record<string, unknown>> {
  const folder = tmpDir('tidegate-bench-');
  const database = openSqlite(`${folder.path}/tidegate.db`, databaseOptions());
  try {
    await migrate(database, { migrations: MIGRATIONS, now: () => START_MS });
    let head: Head = { position: 0, hash: null };
    await database.transact(addKeys);
    for (let host = 0; host < HOSTS; host++) {
      head = await database.transact((tx) => addHost(tx, { host, head }));
      await database.transact((tx) => sign(tx, head));
    }
    const path = `${folder.path}/evidence.tar`;
    const written = await measured(async () => {
      const file = openSync(path, 'w');
      let bytes = 0;
      const signer = { fleetId: FLEET, signer: () => ({ sign: signAs }) };
      const request = {
        scope: { kind: 'group', group: 'web' } as const,
        isBound: false,
        span: { sinceMs: START_MS, untilMs: START_MS + YEAR_MS },
        madeBy: 'bench',
        nowMs: START_MS + YEAR_MS,
      };
      for await (const piece of writeBundle(database.read, signer, request)) {
        writeSync(file, piece);
        bytes += piece.length;
      }
      closeSync(file);
      return bytes;
    });
    const verified = await measured(async () => {
      const file = openSync(path, 'r');
      const archive = {
        size: fstatSync(file).size,
        read(at: number, length: number) {
          const bytes = Buffer.alloc(Math.max(0, Math.min(length, archive.size - at)));
          readSync(file, bytes, 0, bytes.length, at);
          return bytes;
        },
      };
      const verdict = await verifyBundle(archive, {
        pins: { values: new Set([key.publicKeyHex]) },
        onFile: () => nextTurn(),
      });
      closeSync(file);
      if (!verdict.ok) throw new Error(JSON.stringify(verdict.fault));
      return verdict.manifest.files.length;
    });
    const result = {
      updates: HOSTS * UPDATES_OF_HOST,
      bytes: written.value,
      files: verified.value,
      write: written.numbers,
      verify: verified.numbers,
    };
    console.log(JSON.stringify(result, null, 2));
    return result;
  } finally {
    await database.close();
    folder.remove();
  }
}

async function measured<T>(work: () => Promise<T>) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  let residentBytes = 0;
  const sampling = setInterval(() => {
    residentBytes = Math.max(residentBytes, process.memoryUsage().rss);
  }, 50);
  delay.enable();
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  const value = await work();
  delay.disable();
  clearInterval(sampling);
  const used = process.cpuUsage(cpu);
  const numbers = {
    seconds: Math.round((performance.now() - began) / 100) / 10,
    cpuSeconds: Math.round((used.user + used.system) / 100_000) / 10,
    residentMb: Math.round(residentBytes / 1_048_576),
    loopDelayMs: { p99: Math.round(delay.percentile(99) / 1e5) / 10, max: Math.round(delay.max / 1e5) / 10 },
  };
  return { value, numbers };
}

interface Head {
  position: number;
  hash: string | null;
}

function signAs(type: string, bytes: Uint8Array) {
  return signEnvelope(key, type, bytes);
}

async function addKeys(tx: Tx): Promise<void> {
  const issued = new Date(START_MS).toISOString();
  const payload = {
    ...{ v: 1, fleet_id: FLEET, version: 1, issued_at: issued },
    expires_at: new Date(START_MS + 90 * DAY_MS).toISOString(),
    keys: [
      {
        ...{ key_id: KEY_ID, version: 1, public_key_hex: key.publicKeyHex, status: 'active' },
        ...{ created_at: issued, revoked_at: null },
      },
    ],
  };
  const envelope = JSON.stringify(signAs(KEYSET_TYPE, Buffer.from(JSON.stringify(payload))));
  const row = { version: 1, envelope, signed_by: KEY_ID, issued_at: START_MS, expires_at: START_MS };
  await tx.insertInto('key_sets').values(row).execute();
}

/** A year of one host: each day brings some updates, which are approved and installed some days later. */
async function addHost(tx: Tx, { host, head }: { host: number; head: Head }): Promise<Head> {
  const agentId = idOf(START_MS, host, 0xa);
  await tx
    .insertInto('agents')
    .values({
      ...{ id: agentId, status: 'active', hostname: `web-${host}.example.org`, os_family: 'linux' },
      ...{ os_id: 'debian', os_version_id: '12', os_arch: 'amd64', agent_version: '1.0.0' },
      ...{ group_name: 'web', enrolled_at: START_MS, machine_id: null, boot_id: null, uptime_seconds: null },
      ...{ key_set_version: 1, next_seq: 1, inventory_digests: '', polling_interval_seconds: null },
      ...{ bound_at: null, revoked_at: null, deleted_at: null },
    })
    .execute();
  let last = head;
  for (let set = 0; set * SET < UPDATES_OF_HOST; set++) {
    const knownMs = START_MS + Math.floor((set * SET * 350 * DAY_MS) / UPDATES_OF_HOST);
    const approvedMs = knownMs + (1 + (set % 9)) * DAY_MS;
    last = await addSet(tx, { agentId, host, set, knownMs, approvedMs, head: last });
  }
  return last;
}

async function addSet(
  tx: Tx,
  of: { agentId: string; host: number; set: number; knownMs: number; approvedMs: number; head: Head },
): Promise<Head> {
  const { agentId, host, set, knownMs, approvedMs, head } = of;
  const serial = host * 1_000 + set;
  const planId = idOf(knownMs, serial, 0xb);
  const tokenId = idOf(approvedMs, serial, 0xc);
  const decisionId = idOf(approvedMs, serial, 0xd);
  const commandId = idOf(approvedMs, serial, 0xe);
  const updates = Array.from({ length: SET }, (_, i) => ({
    update_id: idOf(knownMs, serial * SET + i, 0xf),
    ...{ name: `package-${set * SET + i}`, from_version: '1.2.3-1', to_version: '1.2.3-1+deb12u2' },
  }));
  const actions = updates.map(({ name, from_version, to_version }) => ({
    ...{
      action: 'upgrade',
      name,
      arch: 'amd64',
      from_version,
      to_version,
      origin: 'Debian:bookworm-security',
    },
    artifact: {
      ...{ filename: `${name}_${to_version}_amd64.deb`, size_bytes: 100_000, sha256: sha(name) },
      url: `https://deb.debian.org/debian-security/pool/updates/main/p/${name}/${name}_amd64.deb`,
    },
  }));
  const issued = new Date(approvedMs).toISOString();
  const payload = Buffer.from(
    JSON.stringify({
      ...{ v: 1, token_id: tokenId, fleet_id: FLEET, agent_id: agentId, ecosystem: 'apt', updates, actions },
      plan_sha256: sha(planId),
      verdict: {
        ...{
          vulnerability: 'clear',
          age: 'not_applicable',
          checked_at: issued,
          source: 'osv',
          snapshot: null,
        },
      },
      ...{ override: null, issued_at: issued, expires_at: new Date(approvedMs + 7 * DAY_MS).toISOString() },
    }),
  );
  const approval = JSON.stringify(signAs(APPROVAL_TYPE, payload));
  const document = canonicalJson({ id: decisionId, facts: 'x'.repeat(4_000), updates });
  await tx
    .insertInto('update_plans')
    .values({
      ...{ id: planId, agent_id: agentId, resolved_at: knownMs, received_at: knownMs },
      ...{ actions: JSON.stringify(actions), plan_sha256: sha(planId) },
    })
    .execute();
  await tx
    .insertInto('updates')
    .values(
      updates.map(({ update_id, name, from_version, to_version }) => ({
        ...{ id: update_id, agent_id: agentId, ecosystem: 'apt', name, arch: 'amd64', state: 'installed' },
        ...{ current_version: from_version, available_version: to_version, security: 1, plan_id: planId },
        ...{ approval_id: tokenId, discovered_at: knownMs, updated_at: approvedMs, out_of_band: 0, fixes: 1 },
      })),
    )
    .execute();
  await tx
    .insertInto('approvals')
    .values({
      ...{ token_id: tokenId, agent_id: agentId, plan_id: planId, envelope: approval, key_id: KEY_ID },
      ...{ payload_sha256: sha(payload), verdict: '{}', approved_by: 'ada' },
      ...{ issued_at: approvedMs, expires_at: approvedMs + 7 * DAY_MS },
    })
    .execute();
  await tx
    .insertInto('approval_updates')
    .values(updates.map(({ update_id }) => ({ token_id: tokenId, update_id, live: 0 })))
    .execute();
  await tx
    .insertInto('decisions')
    .values({
      ...{ id: decisionId, agent_id: agentId, set_sha256: sha(planId), plan_id: planId, outcome: 'minted' },
      ...{ actor: 'ada', token_id: tokenId, fingerprint: sha(document), document },
      ...{ document_sha256: sha(document), decided_at: approvedMs, repeats: 0 },
    })
    .execute();
  await tx
    .insertInto('decision_updates')
    .values(updates.map(({ update_id }) => ({ decision_id: decisionId, update_id, stopped: 0 })))
    .execute();
  await tx
    .insertInto('agent_commands')
    .values(
      sealed(tx, 'agent_commands', {
        ...{ id: commandId, agent_id: agentId, action: 'install_update', params: '{}', approval_id: tokenId },
        ...{ approval_sha256: sha(payload), status: 'success', created_by: 'ada', created_at: approvedMs },
        ...{ not_before: approvedMs, expires_at: approvedMs + DAY_MS, finished_at: approvedMs + 60_000 },
        ...{ seq: null, key_id: null, machine_sha256: null, epoch: 1, envelope: null, sent_at: approvedMs },
        ...{ received_at: approvedMs, started_at: approvedMs, reason: null, exit_code: 0, output_tail: null },
        ...{ restarts: null, probes: null, hooks: null, answer: null, called_off_at: null, way_back: null },
        ...{ changed_at: null },
        installed: JSON.stringify(updates.map(({ name, to_version: version }) => ({ name, version }))),
      }),
    )
    .execute();
  await tx
    .insertInto('command_updates')
    .values(updates.map(({ update_id }) => ({ command_id: commandId, update_id })))
    .execute();
  const steps = ['approved', 'installing', 'installed'];
  await tx
    .insertInto('update_history')
    .values(
      updates.flatMap(({ update_id }, i) =>
        steps.map((to_state, step) => ({
          ...{ id: idOf(approvedMs, (serial * SET + i) * 3 + step, 0x7), update_id, at: approvedMs + step },
          ...{ from_state: steps[step - 1] ?? 'pending', to_state, reason: null, actor: 'ada' },
        })),
      ),
    )
    .execute();
  let last = head;
  const events: Tables['events'][] = [];
  for (const [i, type] of ['update_approved', 'update_installed'].entries()) {
    const row = {
      ...{ position: last.position + 1, id: idOf(approvedMs, serial * 2 + i, 0x8), kind: 'system' as const },
      ...{ type, severity: 'info', component: 'approvals', agent_id: agentId, actor: 'ada' },
      content: JSON.stringify({ token_id: tokenId, updates: updates.slice(0, 10) }),
      ...{ created_at: approvedMs, previous_hash: last.hash },
    };
    const hash = hashOfEvent(row);
    events.push({ ...row, hash });
    last = { position: row.position, hash };
  }
  await tx.insertInto('events').values(events).execute();
  return last;
}

async function sign(tx: Tx, { position, hash }: Head): Promise<void> {
  if (hash === null) return;
  const at = START_MS + YEAR_MS;
  const payload = {
    ...{ v: 1, fleet_id: FLEET, epoch: 1, position, hash, created_at: new Date(at).toISOString() },
  };
  const envelope = JSON.stringify(signAs(CHECKPOINT_TYPE, Buffer.from(JSON.stringify(payload))));
  await tx
    .insertInto('event_checkpoints')
    .values({ position, hash, epoch: 1, envelope, created_at: at })
    .execute();
  await tx.updateTable('events_head').set({ position, hash }).execute();
}

function idOf(ms: number, n: number, kind: number): string {
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8${kind.toString(16).padStart(3, '0')}-${n.toString(16).padStart(12, '0')}`;
}

function sha(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex');
}
