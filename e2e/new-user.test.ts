import { chmodSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CreatedRegistrationToken } from '@tidegate/protocol/enrolment-api';
import { findTool, runTool, SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Child, startChild } from './harness/child.ts';
import { becomeFirstOperator, parsed, post } from './harness/first-operator.ts';

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
const INSTALL_MAX_MS = 240_000;
const NOBODY = 65_534;

const isRoot = process.getuid?.() === 0;
const lacking = ['node', 'npm', 'git'].filter((tool) => findTool(tool) === null);
const missing = lacking.length === 0 ? null : `${lacking.join(', ')} is not installed for the whole system`;

describe.skipIf(missing !== null)(`a newcomer${missing === null ? '' : ` (${missing})`}`, () => {
  test('starts the server from a fresh clone with npm start, and becomes its first operator', {
    timeout: INSTALL_MAX_MS + 60_000,
  }, async () => {
    const child = await npmStart(isRoot ? NOBODY : null);
    await expectFirstOperator(child);
  });

  if (isRoot && process.env.TIDEGATE_LONG === '1') {
    test('does the same as root', { timeout: INSTALL_MAX_MS + 60_000 }, async () => {
      const child = await npmStart(0);
      await expectFirstOperator(child);
    });
  }
});

/** Clones the repository and runs `npm start` in it on the system's own Node, as that user. */
async function npmStart(uid: number | null): Promise<Child> {
  const folder = tmpDir('tidegate-newcomer-');
  onTestFinished(() => folder.remove());
  chmodSync(folder.path, 0o755);
  const clone = join(folder.path, 'clone');
  const home = join(folder.path, 'home');
  await mkdir(home);
  const trusting = ['-c', `safe.directory=${REPOSITORY}`];
  await runTool('git', [...trusting, 'clone', '--quiet', '--no-hardlinks', REPOSITORY, clone]);
  const drops = uid !== null && uid !== 0;
  if (drops) await runTool('chown', ['-R', `${uid}:${uid}`, clone, home]);
  const registry = (await runTool('npm', ['config', 'get', 'registry'], { env: homeOfThisUser() })).trim();
  const env = {
    PATH: SYSTEM_PATH,
    HOME: home,
    SERVICE_PORT: '0',
    npm_config_registry: registry,
    npm_config_update_notifier: 'false',
  };
  const command = ['npm', 'start'];
  const drop = ['--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', ...command];
  const [program = '', ...args] = drops ? ['setpriv', ...drop] : command;
  const child = startChild(program, args, { env, cwd: clone, asGroup: true });
  onTestFinished(async () => {
    child.signal('SIGINT');
    await child.ended;
  });
  return child;
}

async function expectFirstOperator(child: Child): Promise<void> {
  await child.line(/Installing packages/);
  // Offered while there is no host.
  await child.line(/^ {2}npm run demo$/, INSTALL_MAX_MS);
  const { url, login } = await becomeFirstOperator(child, INSTALL_MAX_MS);
  expect(login.operator.role).toBe('admin');
  const made = await post(`${url}/api/v1/admin/registration-tokens`, { label: 'first host' }, login.token);
  expect((await parsed(made, CreatedRegistrationToken)).token).toMatch(/^tgr_/);
  expect((await fetch(`${url}/api/docs`)).status).toBe(200);
  const console = await fetch(`${url}/`);
  expect([console.status, await console.text()]).toEqual([200, expect.stringContaining('/assets/index-')]);
}

function homeOfThisUser(): Record<string, string> {
  return process.env.HOME === undefined ? {} : { HOME: process.env.HOME };
}
