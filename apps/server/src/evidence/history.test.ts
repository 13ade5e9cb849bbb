import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { APPROVAL_TYPE } from '@tidegate/protocol/documents';
import { loadSigningKey, signEnvelope } from '@tidegate/signing/sign';
import { expect, test } from 'vitest';
import { checkpointKeys } from '../events/checkpoint-keys.ts';
import { pruneEvents } from '../events/prune-events.ts';
import { SQLITE_FILE } from '../platform/db/open.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import { createCheckpointSigner } from '../testing/checkpoint-signer.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES } from '../testing/engines.ts';
import { createEvidenceScene } from '../testing/evidence-scene.ts';
import { believeClock } from '../testing/jumping-clock.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { inBoth } from '../testing/two-verifiers.ts';
import { entriesOf, filesOf } from '../testing/unpack-bundle.ts';

const DAY_MS = 86_400_000;
const [sqlite] = ENGINES;

/**
 * Months of a fleet: approvals under the first key; then a root comes into force, the key is rotated and the first one
 * revoked, a host is renamed and another removed, and an operator leaves.
 */
async function months() {
  if (!sqlite) throw new Error('there is no engine');
  const it = await createEvidenceScene(sqlite);
  const { clock, file } = it;
  async function keys(words: string): Promise<string> {
    const { code, out, err } = await it.run(['keys', ...words.split(' ')]);
    expect([words, code, code === 0 ? '' : err]).toEqual([words, 0, '']);
    return out;
  }
  const sign = async (document: string) => {
    for (const name of ['a', 'b']) await keys(`root sign ${file(document)} --key ${file(name)}`);
    await keys(`root install ${file(document)}`);
  };
  const database = (work: (db: DatabaseSync) => void) => {
    const db = new DatabaseSync(join(it.dataDir, SQLITE_FILE));
    work(db);
    db.close();
  };
  const publicKeys = async (): Promise<{ key_id: string; public_key_hex: string; version: number }[]> =>
    JSON.parse(await keys('list --json')).keys;
  let bundles = 0;
  async function bundle(...words: string[]): Promise<Buffer> {
    bundles++;
    const path = file(`bundle-${bundles}.tar`);
    const ran = await it.run(['evidence', ...words, '--out', path]);
    expect([words, ran.code, ran.err]).toEqual([words, 0, '']);
    return readFileSync(path);
  }

  const body = { username: 'bob', password: 'another long password', role: 'admin' };
  const bob = await it.call('POST', '/api/v1/admin/operators', { token: await it.login(), body });
  await it.call('DELETE', `/api/v1/admin/operators/${bob.id}`, { token: await it.login() });
  await it.call('DELETE', `/api/v1/agents/${it.other.id}`, { token: await it.login() });
  await it.stop();
  clock.advance(5 * DAY_MS);
  const roots = [await keys(`root make --out ${file('a')}`), await keys(`root make --out ${file('b')}`)];
  await keys(
    `root init --threshold 2 ${roots.map((key) => `--key ${key}`).join(' ')} --out ${file('root.json')}`,
  );
  await sign('root.json');
  clock.advance(DAY_MS);
  await keys('add');
  await keys(`pending --out ${file('set.json')}`);
  await sign('set.json');
  await keys('use 2');
  const [second, first] = (await publicKeys()).toSorted((a, b) => b.version - a.version);
  const ofFirst = readFileSync(join(it.dataDir, 'keys', `${first?.key_id}.key`), 'utf8').trim();
  clock.advance(DAY_MS);
  // Signs the head of the log as it stands.
  await bundle('--since', it.since);
  clock.advance(1_000);
  const middle = new Date(clock.now()).toISOString();
  await keys('revoke 1');
  database((db) => db.exec(`UPDATE agents SET hostname = 'renamed' WHERE id = '${it.lab.id}'`));
  clock.advance(40 * DAY_MS);
  const { payload } = JSON.parse(readFileSync(file('root.json'), 'utf8'));
  const root = createHash('sha256').update(Buffer.from(payload, 'base64')).digest('hex');
  return {
    ...{ ...it, middle, bundle, database, root, ofFirst },
    first: first ?? { key_id: '', public_key_hex: '' },
    second: second ?? { key_id: '', public_key_hex: '' },
  };
}

function linesOf(bytes: Buffer, folder: string) {
  return [...filesOf(bytes)]
    .filter(([name]) => name.startsWith(`${folder}/`))
    .flatMap(([, content]) => content.toString().trimEnd().split('\n'))
    .map((line) => JSON.parse(line));
}

const good = { ours: { ok: true }, second: { ok: true } };
const bad = (fault: object) => ({ ours: { ok: false, fault }, second: { ok: false, fault } });

test('through a root, a rotation and a revocation, a pin from any time vouches for the bundle', async () => {
  const it = await months();
  it.database(
    (db) => void db.exec("UPDATE agent_commands SET installing_at = 1 WHERE action = 'install_update'"),
  );
  const whole = await it.bundle('--since', it.since);
  const keys = linesOf(whole, 'keys').map((line) => Object.keys(line)[0]);
  expect(keys).toEqual(['root', ...Array.from({ length: keys.length - 1 }, () => 'key_set')]);
  expect(keys.length).toBeGreaterThanOrEqual(4);
  for (const pin of [it.first.public_key_hex, it.second.public_key_hex, it.root]) {
    const verdict = await inBoth(whole, pin);
    expect([pin, verdict]).toMatchObject([pin, good]);
    expect(verdict.ours).toMatchObject({ keyId: it.second.key_id });
  }
  expect(await inBoth(whole, 'd'.repeat(64))).toMatchObject(bad({ file: 'keys/0001.ndjson' }));
  // What they did remains, under the names of today.
  expect(linesOf(whole, 'hosts')).toMatchObject([
    { hostname: 'renamed', deleted_at: null },
    { hostname: 'host-2', deleted_at: expect.any(String) },
  ]);
  const approvals = linesOf(whole, 'approvals');
  expect(approvals).toHaveLength(3);
  for (const { results } of approvals) {
    expect(results).toMatchObject([{ installing_at: '1970-01-01T00:00:00.001Z' }]);
  }
  const types = linesOf(whole, 'events').flatMap(({ event }) => (event ? [event.type] : []));
  expect(types).toEqual(
    expect.arrayContaining(['update_approved', 'OPERATOR_CHANGED', 'AGENT_REVOKED', 'SIGNING_KEY_REVOKED']),
  );

  // One changed byte in each root and key set.
  const entry = entriesOf(whole).find(({ name }) => name === 'keys/0001.ndjson');
  if (!entry) throw new Error('there are no keys');
  let start = entry.at;
  for (let line = 1; start < entry.at + entry.bytes; line++) {
    const end = whole.indexOf(10, start);
    const changed = Buffer.from(whole);
    const at = whole.indexOf('"payload":"', start) + 40;
    changed[at] = changed[at] === 65 ? 66 : 65;
    // A set that does not count any more is told by the next one, for which it does not vouch.
    const verdict = await inBoth(changed, it.root);
    const fault = verdict.ours.ok ? null : verdict.ours.fault;
    expect([line, fault?.file]).toEqual([line, 'keys/0001.ndjson']);
    expect(fault?.line).toBeGreaterThanOrEqual(line);
    expect(verdict.second).toMatchObject({
      ok: false,
      fault: { file: 'keys/0001.ndjson', line: fault?.line },
    });
    start = end + 1;
  }
});

test('what a revoked key signs afterwards is a fault, and what it signed before is not', async () => {
  const it = await months();
  const key = loadSigningKey({ keyId: it.first.key_id, privateKeyHex: it.ofFirst });
  const late = new Date(it.clock.now() - DAY_MS).toISOString();
  it.database((db) => {
    const row = db.prepare('SELECT token_id, envelope FROM approvals ORDER BY token_id LIMIT 1').get();
    const payload = JSON.parse(Buffer.from(JSON.parse(String(row?.envelope)).payload, 'base64').toString());
    const bytes = Buffer.from(JSON.stringify({ ...payload, issued_at: late }));
    const envelope = JSON.stringify(signEnvelope(key, APPROVAL_TYPE, bytes));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    db.prepare('UPDATE approvals SET envelope = ?, payload_sha256 = ? WHERE token_id = ?').run(
      ...[envelope, sha256, String(row?.token_id)],
    );
  });
  const forged = await it.bundle('--since', it.since);
  const place = { file: 'approvals/0001.ndjson', line: 1, field: 'token' };
  for (const pin of [it.first.public_key_hex, it.root])
    expect(await inBoth(forged, pin)).toMatchObject(bad(place));
});

test('a span within the log begins at a checkpoint, and shows no event of before', async () => {
  const it = await months();
  const later = await it.bundle('--group', 'lab', '--since', it.middle);
  const verdict = await inBoth(later, it.root);
  expect(verdict).toMatchObject(good);
  const start = verdict.ours.ok ? (verdict.ours.manifest.chain?.start.position ?? 0) : 0;
  expect(start).toBeGreaterThan(10);
  const events = linesOf(later, 'events');
  expect(events[0]).toMatchObject({ checkpoint: expect.any(Object) });
  expect(events.filter(({ event }) => event?.created_at < Date.parse(it.middle))).toEqual([]);
  // Nothing that was decided before is said to be of this span, and what still waits is.
  expect(linesOf(later, 'updates').map(({ name, outcome }) => [name, outcome])).toEqual([
    ['right', 'waiting'],
  ]);
  expect((await inBoth(later, 'd'.repeat(64))).ours.ok).toBe(false);
});

test('a log that was pruned is whole from its anchor on; what is missing behind it is a fault', async () => {
  const it = await months();
  // Signs the head, so that a checkpoint old enough to prune up to stands there.
  await it.bundle('--since', it.since);
  it.clock.advance(400 * DAY_MS);
  const database = openSqlite(join(it.dataDir, SQLITE_FILE), databaseOptions());
  const platform = createTestPlatform(database, { startMs: it.clock.now() });
  await believeClock(platform);
  const trusted = checkpointKeys(
    [],
    [it.first, it.second].map((key) => ({ keyId: key.key_id, publicKeyHex: key.public_key_hex })),
  );
  const how = { signer: createCheckpointSigner(), trusted, isStopped: () => false };
  const prune = async () => (await pruneEvents(platform, { ...how, retentionDays: 30 })).removed;
  let pruned = 0;
  for (let removed = await prune(); removed > 0; removed = await prune()) pruned += removed;
  await database.close();
  it.clock.advance(DAY_MS);
  expect(pruned).toBeGreaterThan(10);
  const whole = await it.bundle('--since', it.since);
  const verdict = await inBoth(whole, it.first.public_key_hex);
  expect(verdict).toMatchObject(good);
  if (!verdict.ours.ok) throw new Error('not verified');
  const { chain, unknown } = verdict.ours.manifest;
  expect(unknown).toContain(`Events up to position ${pruned} were pruned and are not in the bundle.`);
  expect(chain?.start.position).toBe(pruned);
  const events = linesOf(whole, 'events');
  expect(events[0]).toMatchObject({ checkpoint: expect.any(Object) });
  expect(events.flatMap(({ event }) => (event ? [event.type] : []))).toContain('events_pruned');

  it.database((db) => {
    for (const { name } of db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'")
      .all())
      db.exec(`DROP TRIGGER ${name}`);
    db.exec(`DELETE FROM events WHERE position = ${pruned + 1}`);
  });
  const place = { file: 'events/0001.ndjson', line: 2 };
  expect(await inBoth(await it.bundle('--since', it.since), it.root)).toMatchObject(bad(place));
});

test('the bundle needs nothing of the folder of the server', async () => {
  const it = await months();
  const whole = await it.bundle('--since', it.since);
  for (const name of readdirSync(join(it.dataDir, 'keys'))) rmSync(join(it.dataDir, 'keys', name));
  expect(await inBoth(whole, it.root)).toMatchObject(good);
});
