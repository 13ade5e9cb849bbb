import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { must } from '../harness/host.ts';
import { createKeyScene, type KeyScene } from '../harness/key-scene.ts';
import { liftLimits, logIn, type Operator } from '../harness/operator.ts';
import { readRunbook, stepOf } from '../harness/runbook.ts';
import { storyEngines } from '../harness/story-engines.ts';

const steps = readRunbook(fileURLToPath(new URL('../../docs/runbooks/restore.md', import.meta.url)));
const LOAD_AGENTS = 8;

describe.each(storyEngines('sqlite'))('docs/runbooks/restore.md on $name (RT22)', (engine) => {
  test('an older hot backup is restored: revocations hold and key versions do not repeat', async () => {
    const scene = await createKeyScene(engine);
    const { server, operator, names, follow } = scene;
    await liftLimits(operator);
    const [host, sold] = [await scene.enrolled('one'), await scene.enrolled('two')];
    const load = startRenewals(await enrolMany(server.url, operator));
    names.BACKUP = join(scene.folder, 'older.backup');
    names.EPOCH = '1';
    await follow(stepOf(steps, 'Beforehand: make backups'));
    const loaded = await load.stop();
    expect(loaded.renewals).toBeGreaterThan(LOAD_AGENTS);
    expect(loaded.refused).toBe(0);

    // These changes must survive the restore.
    expect((await operator.call('POST', `/api/v1/agents/${sold.agentId()}/revoke`, {})).status).toBe(200);
    const added = await operator.addKey();
    await operator.useKey(added.version);
    await operator.revokeKey(1);
    for (const each of loaded.tokens) expect(await each.renew()).toBe(200);
    must(await host.runOnce());

    await server.stop();
    const fresh = engine.name === 'postgres' ? (await engine.place()).databaseUrl : null;
    if (fresh !== null) names.SERVICE_DATABASE_URL = fresh;
    await follow(stepOf(steps, '2. Restore'));
    expectKeptAside(scene, engine.name);
    await server.restart(fresh === null ? {} : { SERVICE_DATABASE_URL: fresh });
    await server.line(/\[ERROR\] THE DATABASE WAS RESTORED OR REPLACED.* epoch=2 sign=restore_command/);
    const after = await logIn(server.url);
    names.TOKEN = after.token;
    await follow(stepOf(steps, '3. Start the server and look'));
    await follow(stepOf(steps, '4. Decide about the hosts that renewed since'));
    for (const each of loaded.tokens) expect(await each.renew()).toBe(200);
    must(await host.runOnce());
    expect((await sold.runOnce()).code).toBe(2);
    const checked = await follow(stepOf(steps, '5. Check'));
    expect(checked).toContain('REFRESH_RESYNC');
    expect(checked).not.toContain('"type":"REFRESH_TOKEN_REUSE"');
    expect(await after.keys()).toMatchObject([
      { version: 2, key_id: added.key_id, in_use: true, status: 'active' },
      { version: 1, status: 'revoked' },
    ]);
    expect((await after.addKey()).version).toBe(3);
    await follow(stepOf(steps, '6. Close the resync when the hosts are back'));
    must(await host.runOnce());
    await server.stop();
    if (engine.name === 'sqlite') expectIntegrity(join(scene.dataDir, 'tidegate.db'));
  });
});

function expectKeptAside({ dataDir }: KeyScene, engine: string): void {
  const aside = readdirSync(dataDir).filter((name) => /^tidegate\.db\.before-restore-\d+T\d+Z$/.test(name));
  expect(aside).toHaveLength(engine === 'sqlite' ? 1 : 0);
  expect(existsSync(join(dataDir, 'epoch.json'))).toBe(true);
  for (const name of aside) expectIntegrity(join(dataDir, name));
}

function expectIntegrity(file: string): void {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
    expect(database.prepare('PRAGMA foreign_key_check').all()).toEqual([]);
  } finally {
    database.close();
  }
}

/** An agent that only renews. */
type Renewing = { renew(): Promise<number> };

async function enrolMany(url: string, operator: Operator): Promise<Renewing[]> {
  const token = await operator.registrationToken(LOAD_AGENTS);
  const host = {
    os: { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' },
    agent_version: '1.0.0',
  };
  const agents: Renewing[] = [];
  for (let i = 0; i < LOAD_AGENTS; i++) {
    const machineId = `machine-of-the-load-${i}`;
    const enrolled = await post(
      `${url}/api/v1/agents/register`,
      { ...host, hostname: `load-${i}` },
      { machineId, token },
    );
    let refresh = enrolled.refresh_token;
    agents.push({
      async renew() {
        const answer = await post(`${url}/api/v1/agents/renew`, { refresh_token: refresh }, { machineId });
        refresh = answer.refresh_token ?? refresh;
        return answer.status;
      },
    });
  }
  return agents;
}

/** Renews all of them in parallel, repeatedly, until `stop` is called. */
function startRenewals(tokens: readonly Renewing[]) {
  let isStopped = false;
  let renewals = 0;
  let refused = 0;
  const running = tokens.map(async (each) => {
    while (!isStopped) {
      if ((await each.renew()) === 200) renewals++;
      else refused++;
    }
  });
  return {
    async stop() {
      isStopped = true;
      await Promise.all(running);
      return { renewals, refused, tokens };
    },
  };
}

async function post(
  url: string,
  body: object,
  { machineId, token }: { machineId: string; token?: string },
): Promise<{ status: number; refresh_token?: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-machine-id': machineId,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  const answer: { refresh_token?: string } = JSON.parse(await response.text());
  return { ...answer, status: response.status };
}
