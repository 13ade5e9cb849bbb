import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { describe, expect, onTestFinished, test } from 'vitest';
import { GATE_VERSION } from '../approvals/gate.ts';
import { openDatabase } from '../platform/db/open.ts';
import { actionOf } from '../testing/approvals-app.ts';
import { createCliPlace, createServedPlace } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { SAMPLED_ENGINES, type TestEngine } from '../testing/engines.ts';

const PASSWORD = 'correct horse battery';
const AT = '2026-11-21T08:59:00Z';

/** A running server that has approved one update, and its public keys in a file. */
async function place(engine: TestEngine, filename = 'left.pkg') {
  const it = await createServedPlace(engine);
  const added = await it.run(['operators', 'add', 'ada', '--role', 'admin'], { stdin: `${PASSWORD}\n` });
  expect(added).toMatchObject({ code: 0 });
  const { url } = await it.start();

  async function call(method: string, path: string, { token, body }: { token?: string; body?: object } = {}) {
    const answer = await fetch(url + path, {
      method,
      headers: {
        'x-machine-id': 'machine-1',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    expect([answer.ok, text]).toEqual([true, text]);
    return JSON.parse(text);
  }

  const login = { body: { username: 'ada', password: PASSWORD } };
  const { token } = await call('POST', '/api/v1/auth/login', login);
  const made = await call('POST', '/api/v1/admin/registration-tokens', { token, body: { label: 'x' } });
  const os = { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' };
  const host = { hostname: 'host-1', os, agent_version: '1.0.0' };
  const agent = await call('POST', '/api/v1/agents/register', { token: made.token, body: host });
  const { artifact, ...rest } = actionOf({ name: 'left', version: '1.1.0', ecosystem: 'npm' });
  const action = { ...rest, artifact: artifact && { ...artifact, filename } };
  const plan = { resolved_at: AT, actions: [action] };
  const update = { name: 'left', current_version: '1.0.0', available_version: '1.1.0', plan };
  const report = { scanned_at: AT, complete: true, packages: [], updates: [update] };
  const path = `/api/v1/agents/${agent.agent_id}/inventory/npm`;
  const { updates } = await call('PUT', path, { token: agent.access_token, body: report });
  const updateId: string = updates[0].update_id;
  await call('POST', `/api/v1/updates/${updateId}/approve`, { token });
  const { items } = await call('GET', `/api/v1/updates/${updateId}/decisions`, { token });
  const keys = join(it.dataDir, 'public-keys.json');
  writeFileSync(keys, JSON.stringify(await call('GET', '/api/v1/public-keys')));
  const decisionId: string = items[0].id;
  return {
    ...{ ...it, updateId, decisionId, keys, file: (name: string) => join(it.dataDir, name) },
    decisions: (...words: string[]) => it.run(['decisions', ...words]),
  };
}

describe.each(SAMPLED_ENGINES)('tidegate decisions on $name, beside a running server', (engine) => {
  test('show lists an update’s decisions, or prints one in full', async () => {
    const it = await place(engine);
    const list = await it.decisions('show', it.updateId);
    expect(list).toMatchObject({ code: 0, err: '' });
    expect(list.out).toMatch(/^ID +DECIDED +OUTCOME +BY +AGAIN\n[0-9a-f-]{36} +2026-\S+ +minted +ada +0$/);
    const [item] = JSON.parse((await it.decisions('show', it.updateId, '--json')).out);
    expect(item).toMatchObject({ id: it.decisionId, outcome: 'minted' });
    const { out } = await it.decisions('show', it.decisionId);
    expect(JSON.parse(out)).toMatchObject({ replays: true, record: { updates: [{ name: 'left' }] } });
  });

  test('replay confirms recorded decisions, and reports those that the gate would decide otherwise', async () => {
    const it = await place(engine);
    expect(await it.decisions('replay', it.updateId)).toEqual({
      ...{ code: 0, err: '', out: `${it.decisionId} same` },
    });
    expect(JSON.parse((await it.decisions('replay', it.decisionId, '--json')).out)).toMatchObject({
      ...{ ok: true, decisions: [{ id: it.decisionId, gate_version: GATE_VERSION, same: true }] },
    });
    const database = openDatabase(it, databaseOptions());
    onTestFinished(() => database.close());
    const row = await database.read.selectFrom('decisions').select('document').executeTakeFirstOrThrow();
    const stop = { by: 'age', reason: 'too_young' };
    const verdict = { kind: 'blocked', stop, overridable: false };
    const document = canonicalJson({ ...JSON.parse(row.document), verdict });
    const document_sha256 = createHash('sha256').update(document).digest('hex');
    await database.transact((tx) => tx.updateTable('decisions').set({ document, document_sha256 }).execute());
    const differs = await it.decisions('replay', it.decisionId);
    expect(differs.code).toBe(1);
    expect(differs.out).toContain(`${it.decisionId} DIFFERS: {"recorded":{"kind":"blocked"`);
  });

  test('an exported statement verifies with the public keys alone, and fails after a change', async () => {
    const it = await place(engine);
    const file = it.file('statement.json');
    const exported = await it.decisions('export', it.decisionId, '--out', file);
    expect(exported).toEqual({ code: 0, out: `Statement exported: ${file}`, err: '' });
    const verify = (path = file, ...more: string[]) =>
      it.run(['decisions', 'verify', path, '--keys', it.keys, ...more], {
        env: { SERVICE_DATA_DIR: '/nowhere' },
      });
    const verified = await verify();
    expect(verified).toMatchObject({ code: 0, err: '' });
    expect(verified.out).toContain('npm left 1.0.0 -> 1.1.0');
    expect(verified.out).toContain(`${'a'.repeat(64)}  left.pkg`);
    expect(JSON.parse((await verify(file, '--json')).out)).toMatchObject({
      ok: true,
      statement: { predicate: { decision_id: it.decisionId, outcome: 'minted', decided_by: 'ada' } },
    });
    // Never overwrites a file; without --out it writes to the standard output.
    expect(await it.decisions('export', it.decisionId, '--out', file)).toMatchObject({ code: 1 });
    expect(JSON.parse((await it.decisions('export', it.decisionId)).out)).toHaveProperty('payload');

    const envelope = JSON.parse(readFileSync(file, 'utf8'));
    const forged = Buffer.from(envelope.payload, 'base64').toString().replace('"ada"', '"eve"');
    const changed = it.file('changed.json');
    writeFileSync(changed, JSON.stringify({ ...envelope, payload: Buffer.from(forged).toString('base64') }));
    const refused = await verify(changed);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('is not verified');
    for (const text of ['{', '[]', '{"payload":1}']) {
      writeFileSync(changed, text);
      expect(await verify(changed)).toMatchObject({ code: 1, out: '' });
    }
    writeFileSync(changed, Buffer.alloc(6 * 1024 * 1024 + 1, 32));
    expect((await verify(changed)).err).toContain('larger than 6 MiB');
    expect((await verify(it.file('absent.json'))).err).toContain('does not exist');
  });

  test('names of files, which hosts choose, are no commands to the terminal that shows a statement', async () => {
    const it = await place(engine, 'left\u009b2J\u202egnp.pkg');
    const file = it.file('statement.json');
    await it.decisions('export', it.decisionId, '--out', file);
    const { out } = await it.decisions('verify', file, '--keys', it.keys);
    expect(out).toContain('  left\\u{9b}2J\\u{202e}gnp.pkg\n');
    expect(out).not.toMatch(/[\u0080-\u009f\p{Cf}]/u);
  });

  test.each([
    [[]],
    [['explain', 'x']],
    [['show']],
    [['show', 'a', 'b']],
    [['show', 'a', '--keys', 'x']],
    [['verify', 'a']],
    [['verify', 'a', '--keys', 'k', '--out', 'x']],
    [['export', 'a', '--json']],
  ])('other words are wrong usage: %j', async (words) => {
    const it = await createCliPlace(engine);
    expect((await it.run(['decisions', ...words])).code).toBe(2);
  });

  test('an unknown id and a changed record are reported', async () => {
    const it = await place(engine);
    const unknown = '01900000-0000-7000-8000-00000000beef';
    for (const act of ['show', 'replay', 'export']) {
      const ran = await it.decisions(act, unknown);
      expect(ran).toMatchObject({ code: 1, out: '' });
      expect(ran.err).toContain(`there is no decision ${unknown}`);
    }
    const database = openDatabase(it, databaseOptions());
    onTestFinished(() => database.close());
    await database.transact((tx) => tx.updateTable('decisions').set({ document: '{}' }).execute());
    for (const act of ['show', 'replay', 'export']) {
      const ran = await it.decisions(act, it.decisionId);
      expect(ran).toMatchObject({ code: 1, out: '' });
      expect(ran.err).toContain('was changed in the database');
    }
  });
});
