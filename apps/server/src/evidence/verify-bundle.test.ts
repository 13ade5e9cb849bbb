import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { SQLITE_FILE } from '../platform/db/open.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createEvidenceScene } from '../testing/evidence-scene.ts';
import { inPython, inTypeScript } from '../testing/two-verifiers.ts';
import { entriesOf } from '../testing/unpack-bundle.ts';
import type { BundleFault } from './verify-fault.ts';

/** Changed bytes in each file, and everywhere in the archive. */
const IN_EACH_FILE = 3;
const ANYWHERE = 40;

async function bundleOf(engine: TestEngine) {
  const it = await createEvidenceScene(engine);
  await it.stop();
  const path = it.file('lab.tar');
  const written = await it.run(['evidence', '--group', 'lab', '--since', it.since, '--out', path]);
  expect(written).toMatchObject({ code: 0 });
  const pin: string = JSON.parse(readFileSync(it.keys, 'utf8')).keys[0].public_key_hex;
  const folder = it.file('bundles');
  mkdirSync(folder);
  return { bytes: readFileSync(path), pin, folder };
}

const ANOTHER = '0190a000-0000-7000-8000-000000000000';
/** Somebody who changes the record of a decision also writes its new hash. */
const OTHER_ACT =
  'UPDATE decisions SET document = replace(document, \'"bulk_id"\', \'"was_bulk"\'), document_sha256 = sha256_hex(replace(document, \'"bulk_id"\', \'"was_bulk"\'))';

const [sqlite] = ENGINES;

test('both verifiers take a bundle, and one changed byte anywhere fails both at its place', async () => {
  if (!sqlite) throw new Error('there is no engine');
  const { bytes, pin, folder } = await bundleOf(sqlite);
  const whole = await inTypeScript(bytes, pin);
  expect(whole).toMatchObject({ ok: true, events: { withheld: expect.any(Number) } });
  writeFileSync(join(folder, 'whole'), bytes);

  const entries = entriesOf(bytes);
  const places = entries.flatMap(({ name, at, bytes: size }) =>
    Array.from({ length: IN_EACH_FILE }, (_, i) => ({ name, at: at + (randomOf(`${name}${i}`) % size) })),
  );
  for (let i = 0; i < ANYWHERE; i++) places.push({ name: '', at: randomOf(`any${i}`) % bytes.length });
  const faults = new Map<string, BundleFault>();
  for (const [i, { name, at }] of places.entries()) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ (1 << (randomOf(`bit${i}`) % 8));
    const id = String(i).padStart(4, '0');
    writeFileSync(join(folder, id), changed);
    const verdict = await inTypeScript(changed, pin);
    if (verdict.ok) throw new Error(`a changed byte at ${at} in ${name} is not seen`);
    faults.set(id, verdict.fault);
    // The file that was changed, and its line: a bad key set may instead be told by what it leaves without a key.
    if (name !== '' && !name.startsWith('keys/')) expect([at, verdict.fault.file]).toEqual([at, name]);
    const entry = entries.find((each) => at >= each.at && at < each.at + each.bytes);
    if (entry && entry.name !== 'manifest.json' && verdict.fault.file === entry.name) {
      const line = bytes.subarray(entry.at, at).filter((byte) => byte === 10).length + 1;
      expect([entry.name, at, verdict.fault.line]).toEqual([entry.name, at, line]);
    }
  }
  const found = await inPython(folder, pin);
  expect(found.whole).toMatchObject({ ok: true, events: whole.ok ? whole.events : {} });
  for (const [id, { file, line }] of faults)
    expect([id, found[id]]).toMatchObject([id, { ok: false, fault: { file, line } }]);
});

/** What somebody who writes the database gains: the server signs a bundle of it, and the bundle shows the place. */
test.each([
  ['approvals/0001.ndjson', 'sha256', `UPDATE approvals SET payload_sha256 = '${'d'.repeat(64)}'`],
  [
    'approvals/0001.ndjson',
    'token',
    'UPDATE approvals SET envelope = replace(envelope, \'"sig":"\', \'"sig":"AA\')',
  ],
  ['approvals/0001.ndjson', 'update_ids', 'DELETE FROM approval_updates'],
  ['approvals/0001.ndjson', 'bulk_id', 'UPDATE approvals SET bulk_id = NULL'],
  ['approvals/0001.ndjson', 'bulk_id', `UPDATE approvals SET bulk_id = '${ANOTHER}'`],
  ['decisions/0001.ndjson', 'record', OTHER_ACT],
  ['decisions/0001.ndjson', 'sha256', "UPDATE decisions SET document = replace(document, 'left', 'lost')"],
  [
    'statements/0001.ndjson',
    'sha256',
    `UPDATE vex_statements SET sha256 = '${'d'.repeat(64)}', ended_at = 4102444800000`,
  ],
])('%s names its member %s after a change of the database', async (file, field, statement) => {
  if (!sqlite) throw new Error('there is no engine');
  const it = await createEvidenceScene(sqlite);
  await it.stop();
  const database = new DatabaseSync(join(it.dataDir, SQLITE_FILE));
  database.function('sha256_hex', (text) => sha256Hex(String(text)));
  database.exec(statement);
  database.close();
  const path = it.file('changed.tar');
  expect(await it.run(['evidence', '--since', it.since, '--out', path])).toMatchObject({ code: 0 });
  const folder = it.file('bundles');
  mkdirSync(folder);
  writeFileSync(join(folder, 'changed'), readFileSync(path));
  const pin: string = JSON.parse(readFileSync(it.keys, 'utf8')).keys[0].public_key_hex;
  const place = { ok: false, fault: { file, line: 1, field } };
  expect(await inTypeScript(readFileSync(path), pin)).toMatchObject(place);
  expect((await inPython(folder, pin)).changed).toMatchObject(place);
});

test('from the first event on, a log verifies although its first checkpoint comes later', async () => {
  if (!sqlite) throw new Error('there is no engine');
  const it = await createEvidenceScene(sqlite);
  await it.stop();
  const database = new DatabaseSync(join(it.dataDir, SQLITE_FILE));
  const guards = database.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'event_checkpoints'",
  );
  for (const { name } of guards.all()) database.exec(`DROP TRIGGER ${name}`);
  database.exec('DELETE FROM event_checkpoints');
  database.close();
  const path = it.file('bundle.tar');
  expect(await it.run(['evidence', '--since', it.since, '--out', path])).toMatchObject({ code: 0 });
  const folder = it.file('bundles');
  mkdirSync(folder);
  writeFileSync(join(folder, 'first'), readFileSync(path));
  const pin: string = JSON.parse(readFileSync(it.keys, 'utf8')).keys[0].public_key_hex;
  const whole = { ok: true, events: { signedUpTo: expect.any(Number) } };
  expect(await inTypeScript(readFileSync(path), pin)).toMatchObject({
    ...{ ...whole, manifest: { chain: { start: { position: 0, hash: null } } } },
  });
  expect((await inPython(folder, pin)).first).toMatchObject(whole);
});

/** The same numbers in every run. */
function randomOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE();
}
