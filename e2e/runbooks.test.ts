import { once } from 'node:events';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { CreatedRegistrationToken } from '@tidegate/protocol/enrolment-api';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { logIn } from './harness/operator.ts';
import { type CommandRun, missingLines, readRunbook, stepOf } from './harness/runbook.ts';
import { createRunbookScene, type ReadingHost, RUNBOOKS, type RunbookScene } from './harness/runbook-host.ts';

const GUIDE = join(RUNBOOKS, '../operator-guide.md');
const README = join(RUNBOOKS, '../../README.md');

describe.each(ENGINES.slice(0, 1))('runbooks, command by command, on $name', (engine) => {
  async function openScene(file: string) {
    const scene = await createRunbookScene(engine, file);
    return { ...scene, host: await scene.enrolled() };
  }

  test('hardware-change.md: refused, rebound with a reason (E2), bound to the new machine', async () => {
    const { host } = await openScene('hardware-change.md');
    host.variables.OLD_MACHINE = 'machine-host-1';
    host.variables.NEW_MACHINE = 'machine-on-a-new-board';
    await writeFile(join(host.dir, 'machine-id'), 'machine-on-a-new-board\n');
    await host.follow('What you see', { part: 0, code: 2 });
    await host.follow('What you see', { part: 1 });
    await host.follow('Clear the binding');
    await host.follow('Start the agent');
    await host.follow('Check');
  });

  test('clone.md, one machine: detected and dismissed', async () => {
    const { server, host } = await openScene('clone.md');
    await useFromElsewhere(server, host);
    await host.follow('What you see');
    await host.follow('One machine');
  });

  test('clone.md, moved: rebound, and the new machine is bound', async () => {
    const { server, host } = await openScene('clone.md');
    await useFromElsewhere(server, host);
    await host.follow('Moved');
    expect((await host.runOnce()).code).toBe(0);
  });

  test('clone.md, two machines: each enrols separately, and the original keeps its id', async () => {
    const { server, newHost, operator, host } = await openScene('clone.md');
    await useFromElsewhere(server, host);
    await host.follow('Two machines', { part: 0 });
    const { stdout } = await host.follow('Two machines', { part: 1 });
    host.variables.REGISTRATION = Value.Parse(CreatedRegistrationToken, JSON.parse(stdout)).token;

    const copy = await newHost({ machineId: 'machine-host-1' });
    await mkdir(copy.configDir, { recursive: true, mode: 0o700 });
    await copyFile(join(host.configDir, 'config.json'), join(copy.configDir, 'config.json'));
    const { TOKEN, REGISTRATION } = host.variables;
    Object.assign(copy.variables, { TOKEN, REGISTRATION });
    await copy.follow('On the copy: a machine id of its own');
    await host.follow('On the original: enrol again');
    await host.follow('Check');
    const agents = await operator.call('GET', '/api/v1/agents');
    expect(agents.body).toMatchObject({ total: 2 });
  });

  test('mass-401.md, case 1: a page of another server in between does not harm a host', async () => {
    const { server, enrolled } = await createRunbookScene(engine, 'mass-401.md');
    const front = await startLyingFront(server.url);
    const host = await enrolled({ url: front.url });
    await host.spoilAccessToken();
    const before = await host.config();
    front.lies = true;
    const refused = await host.follow('What you see', { part: 1, code: 1, shown: false });
    const title = 'Case 1: status 1, not an answer of a Tidegate server';
    expectSaid(refused, title);
    expect(await host.config()).toEqual(before);
    const said = await host.follow(title, { shown: false });
    expect(said.stdout).toContain('<html>');
    front.lies = false;
    expect((await host.runOnce()).code).toBe(0);
    expect((await host.config()).access_token).not.toBe(before.access_token);
  });

  test('mass-401.md, case 2: another secret and back again, and every host recovers', async () => {
    const { server, host } = await openScene('mass-401.md');
    await server.restart({ SERVICE_JWT_SECRET: 'a secret of somebody else, long enough' });
    await host.follow('What you see', { part: 1, shown: false });
    await expect(logIn(server.url)).rejects.toThrow('got 401');
    await server.restart({});
    host.variables.TOKEN = (await logIn(server.url)).token;
    await host.follow('What you see', { part: 0 });
    await host.follow('What you see', { part: 1, shown: false });
    await host.follow('Case 2: status 0, and the hosts have been renewing');
    await host.follow('Check');
  });

  test('mass-401.md, case 3: the wrong database, then the right one', async () => {
    const { server, host } = await openScene('mass-401.md');
    const empty = join(host.dir, 'empty');
    await mkdir(empty, { mode: 0o700 });
    await server.restart({ SERVICE_DATA_DIR: empty });
    host.variables.TOKEN = (await logIn(server.url)).token;
    const refused = await host.follow('What you see', { part: 1, code: 2, shown: false });
    expectSaid(refused, 'Case 3: status 2, ErrRefreshTokenInvalid');
    await host.follow('Case 3: status 2, ErrRefreshTokenInvalid', { part: 0, shownPart: 1 });
    await server.restart();
    host.variables.TOKEN = (await logIn(server.url)).token;
    await host.follow('Case 3: status 2, ErrRefreshTokenInvalid', { part: 1, shown: false });
    await host.follow('Check');
  });

  test('re-enrolment.md: an old token ends the family, and the host comes back with its id', async () => {
    const { host } = await openScene('re-enrolment.md');
    const file = join(host.configDir, 'config.json');
    const old = await readFile(file);
    for (let renewals = 0; renewals < 2; renewals++) {
      await host.spoilAccessToken();
      expect((await host.runOnce()).code).toBe(0);
    }
    await writeFile(file, old);
    await host.spoilAccessToken();
    await host.follow('What you see', { part: 0, code: 2 });
    await host.follow('What you see', { part: 1 });
    await host.follow('Revoke what is left');
    const { stdout } = await host.follow('Make a registration token');
    host.variables.REGISTRATION = Value.Parse(CreatedRegistrationToken, JSON.parse(stdout)).token;
    await host.follow('Enrol');
    await host.follow('Check');
  });
});

/** The first block of a case of mass-401.md is the agent's message. */
function expectSaid({ stdout, stderr }: CommandRun, title: string): void {
  const { shown } = stepOf(readRunbook(join(RUNBOOKS, 'mass-401.md')), title);
  expect(missingLines(shown[0] ?? '', `${stdout}\n${stderr}`)).toEqual([]);
}

test('the index of the runbooks lists all of them', async () => {
  const index = await readFile(join(RUNBOOKS, 'README.md'), 'utf8');
  const named = [...index.matchAll(/\]\(([\w-]+\.md)\)/g)].map((match) => match[1]);
  expect(named).toEqual([
    ...['hardware-change.md', 'clone.md', 'lost-key.md', 'key-rotation.md'],
    ...['restore.md', 'divergence.md', 'first-policy.md', 'freeze.md', 'emergency-patch.md'],
    ...['ring-has-halted.md', 'host-does-not-come-back.md', 'mass-401.md', 're-enrolment.md'],
  ]);
  for (const name of named) expect(readRunbook(join(RUNBOOKS, name ?? '')).length).toBeGreaterThan(1);
});

test('no document passes a registration token as an argument, which every user of the host can read', async () => {
  const files = [...(await readdir(RUNBOOKS)).map((name) => join(RUNBOOKS, name)), GUIDE, README];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  expect(texts.join('\n')).toMatch(/TIDEGATE_TOKEN=\S+ tidegate-agent enrol/);
  expect(texts.filter((text) => /enrol\b.*--token (?!-)/.test(text))).toEqual([]);
});

/** A copy of the host checks in with its identity, then the host itself. */
async function useFromElsewhere(server: RunbookScene['server'], host: ReadingHost): Promise<void> {
  const { agent_id: agentId, access_token: token } = await host.config();
  const answer = await fetch(`${server.url}/api/v1/agents/${agentId}/check-in`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'x-machine-id': 'machine-host-1',
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      ...{ agent_version: '0.1.0', boot_id: 'the-boot-of-the-copy', uptime_seconds: 5 },
      ...{ received: [], key_set_version: 1, inventory_digest: {} },
    }),
  });
  expect(answer.status).toBe(200);
  expect((await host.runOnce()).code).toBe(0);
}

/** A proxy in front of the server that, while `lies` is set, answers every request with its own page. */
async function startLyingFront(target: string): Promise<{ url: string; lies: boolean }> {
  const front = { url: '', lies: false };
  const server = createServer(async (request, answer) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(Buffer.from(piece));
    if (front.lies) {
      answer.writeHead(401, { 'content-type': 'text/html' }).end('<html>Please log in to the network</html>');
      return;
    }
    const headers = Object.entries(request.headers).flatMap(([name, value]) =>
      typeof value === 'string' && !['host', 'connection', 'content-length'].includes(name)
        ? [[name, value]]
        : [],
    );
    const method = request.method ?? 'GET';
    const body = pieces.length === 0 ? {} : { body: Buffer.concat(pieces) };
    const passed = await fetch(target + request.url, {
      method,
      headers: Object.fromEntries(headers),
      ...body,
    });
    answer.writeHead(passed.status, { 'content-type': passed.headers.get('content-type') ?? '' });
    answer.end(Buffer.from(await passed.arrayBuffer()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the front has no port');
  front.url = `http://127.0.0.1:${address.port}`;
  return front;
}
