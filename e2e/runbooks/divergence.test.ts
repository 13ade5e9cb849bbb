import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import type { TestEngine } from '../../apps/server/src/testing/engines.ts';
import { createKeyScene } from '../harness/key-scene.ts';
import { readRunbook, stepOf } from '../harness/runbook.ts';
import { storyEngines } from '../harness/story-engines.ts';

const steps = readRunbook(fileURLToPath(new URL('../../docs/runbooks/divergence.md', import.meta.url)));
const Enrolled = Type.Object({ agent_id: Type.String(), access_token: Type.String() });
const Reported = Type.Object({ updates: Type.Array(Type.Object({ update_id: Type.String() })) });
const Divergences = Type.Object({ items: Type.Array(Type.Object({ id: Type.String() })) });
const AT = '2026-11-21T08:59:00Z';

/** Two hosts whose mirrors serve different files under one name and version, and an update that this blocks. */
async function createDivergedScene(engine: TestEngine) {
  const scene = await createKeyScene(engine);
  const { server, operator, names, folder } = scene;

  async function send(
    method: string,
    path: string,
    asked: { token: string; machineId: string; body: object },
  ) {
    const answer = await fetch(server.url + path, {
      method,
      headers: {
        authorization: `Bearer ${asked.token}`,
        'x-machine-id': asked.machineId,
        'content-type': 'application/json',
      },
      body: JSON.stringify(asked.body),
    });
    const text = await answer.text();
    expect([answer.ok, text]).toEqual([true, text]);
    const body: unknown = JSON.parse(text);
    return body;
  }

  async function reportOf(machineId: string, content: string, others: readonly string[] = []) {
    const file = join(folder, `${machineId}.tgz`);
    writeFileSync(file, content);
    const sha256 = createHash('sha256').update(content).digest('hex');
    const os = { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' };
    const host = { hostname: machineId, os, agent_version: '99.0.0' };
    const token = await operator.registrationToken();
    const register = { token, machineId, body: host };
    const agent = Value.Parse(Enrolled, await send('POST', '/api/v1/agents/register', register));
    const artifact = { filename: 'left.tgz', url: `file://${file}`, size_bytes: content.length, sha256 };
    const actions = ['left', ...others].map((name) => ({
      ...{ action: 'upgrade', name, from_version: '1.0.0', to_version: '1.1.0', artifact },
    }));
    const plan = { resolved_at: AT, actions };
    const update = { name: 'left', current_version: '1.0.0', available_version: '1.1.0', plan };
    const body = { scanned_at: AT, complete: true, packages: [], updates: [update] };
    const path = `/api/v1/agents/${agent.agent_id}/inventory/npm`;
    const reported = await send('PUT', path, { token: agent.access_token, machineId, body });
    const [first] = Value.Parse(Reported, reported).updates;
    return { agentId: agent.agent_id, updateId: first?.update_id ?? '', sha256, url: artifact.url };
  }

  const right = await reportOf('host-1', 'the package');
  const wrong = await reportOf('host-2', 'the package, and something else');
  const list = await operator.call('GET', '/api/v1/artifacts/divergences?open=true');
  const [divergence] = Value.Parse(Divergences, list.body).items;
  Object.assign(names, {
    ...{ DIVERGENCE: divergence?.id ?? '', HASH: right.sha256, URL: right.url, UPDATE_ID: right.updateId },
  });
  expect((await operator.call('POST', `/api/v1/updates/${right.updateId}/approve`)).status).toBe(409);
  return { ...scene, right, wrong, reportOf };
}

describe.each(storyEngines('postgres'))('docs/runbooks/divergence.md on $name', (engine) => {
  test('one hash is accepted: its updates pass, those of the other stay blocked', async () => {
    const { operator, follow, right, wrong } = await createDivergedScene(engine);
    for (const title of ['What you see', 'Look for yourself', 'Accept one', 'Check']) {
      await follow(stepOf(steps, title));
    }
    const approve = (id: string) => operator.approve(id);
    expect((await approve(right.updateId)).status).toBe(200);
    expect(await approve(wrong.updateId)).toMatchObject({ status: 409, body: { blocked_by: 'divergence' } });
  });

  test('a typed hash is accepted, several are decided at once, and an undone decision blocks again', async () => {
    const { operator, names, follow, right, wrong } = await createDivergedScene(engine);
    Object.assign(names, { TYPED_HASH: 'c'.repeat(64) });
    await follow(stepOf(steps, 'Accept a typed hash'));
    for (const { updateId } of [right, wrong]) expect((await operator.approve(updateId)).status).toBe(409);
    await follow(stepOf(steps, 'Decide many'));
    expect((await operator.approve(right.updateId)).status).toBe(200);
    await follow(stepOf(steps, 'Undo'));
    expect((await operator.approve(wrong.updateId)).status).toBe(409);
  });

  test('a host that contradicts too much is set aside and trusted again', async () => {
    const { operator, names, follow, reportOf } = await createDivergedScene(engine);
    const packages = ['a', 'b', 'c', 'd', 'e', 'f'];
    await reportOf('host-3', 'the package', packages);
    const flooding = await reportOf('host-4', 'something else', packages);
    Object.assign(names, { HOST: flooding.agentId });
    await follow(stepOf(steps, 'A host that contradicts too much'));
    const left = await operator.call('GET', '/api/v1/artifacts/hosts-set-aside');
    expect(left).toMatchObject({ body: { total: 0 } });
  });

  test('all are accepted: the updates of both pass', async () => {
    const { operator, follow, right, wrong } = await createDivergedScene(engine);
    for (const title of ['Accept all', 'Check']) await follow(stepOf(steps, title));
    for (const { updateId } of [right, wrong]) expect((await operator.approve(updateId)).status).toBe(200);
  });
});
