import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createEvidenceScene } from '../testing/evidence-scene.ts';
import { filesOf } from '../testing/unpack-bundle.ts';
import { verifyBundle } from './verify-bundle.ts';

const PASSWORD = 'another long password';

test.each(ENGINES)('GET /api/v1/evidence on $name: what an operator may see, and no more', async (engine) => {
  const it = await createEvidenceScene(engine);
  const pins = {
    values: new Set<string>([JSON.parse(readFileSync(it.keys, 'utf8')).keys[0].public_key_hex]),
  };
  const ada = await it.login();
  await it.call('POST', '/api/v1/admin/operators', {
    token: ada,
    body: { username: 'bob', password: PASSWORD, role: 'viewer', groups: ['lab'] },
  });
  const bob = await it.login('bob', PASSWORD);

  async function get(token: string, query: Record<string, string>) {
    const search = new URLSearchParams({ since: it.since, ...query });
    const answer = await it.send('GET', `/api/v1/evidence?${search}`, { token });
    return { answer, bytes: Buffer.from(await answer.arrayBuffer()) };
  }
  async function bundle(token: string, query: Record<string, string>) {
    const { answer, bytes } = await get(token, query);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-tar']);
    const archive = {
      size: bytes.length,
      read: (at: number, length: number) => bytes.subarray(at, at + length),
    };
    return { verdict: await verifyBundle(archive, { pins }), bytes, answer };
  }

  const all = await bundle(ada, {});
  expect(all.verdict).toMatchObject({
    ok: true,
    manifest: { scope: { kind: 'fleet' }, made_by: 'ada', hosts: 2 },
  });
  expect(all.answer.headers.get('content-disposition')).toContain('filename="evidence-fleet-2026-11-21-to-');
  expect((await bundle(ada, { group: 'office' })).verdict).toMatchObject({
    ok: true,
    manifest: { hosts: 1 },
  });
  expect((await bundle(ada, { agent_id: it.other.id })).verdict).toMatchObject({
    ...{ ok: true, manifest: { scope: { kind: 'host', agent_id: it.other.id } } },
  });

  // An operator of one group: neither other hosts, nor rows of the fleet, nor positions in the log.
  for (const query of [{}, { group: 'lab' }, { agent_id: it.lab.id }]) {
    const own = await bundle(bob, query);
    expect(own.verdict).toMatchObject({ ok: true, manifest: { chain: null, hosts: 1, made_by: 'bob' } });
    const files = filesOf(own.bytes);
    const folders = new Set([...files.keys()].map((name) => name.split('/')[0]));
    for (const hidden of ['exceptions', 'statements'])
      expect([hidden, folders.has(hidden)]).toEqual([hidden, false]);
    const events = files.get('events/0001.ndjson')?.toString().trimEnd().split('\n') ?? [];
    expect(events.length).toBeGreaterThan(2);
    for (const line of events) {
      expect(line).toContain(it.lab.id);
      expect(line).not.toContain('"position"');
    }
    for (const hidden of [it.other.id, 'host-2', 'office'])
      expect([hidden, own.bytes.includes(hidden)]).toEqual([hidden, false]);
  }
  const refused = async (token: string, query: Record<string, string>) => {
    const { answer, bytes } = await get(token, query);
    const problem = JSON.parse(bytes.toString());
    return [answer.status, problem.errors?.[0]?.message ?? problem.detail];
  };
  expect(await refused(bob, { group: 'office' })).toEqual([404, 'There is no such group.']);
  expect(await refused(bob, { agent_id: it.other.id })).toEqual([404, 'There is no such host.']);
  expect(await refused(ada, { group: 'lab', agent_id: it.lab.id })).toEqual([
    ...[400, 'agent_id and group exclude each other'],
  ]);
  expect(await refused(ada, { since: 'monday' })).toEqual([400, expect.stringContaining('allowed: a day')]);
  expect(await refused(ada, { until: '2027-01-01' })).toEqual([
    400,
    expect.stringContaining('in the future'),
  ]);
});
