import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTool, runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { openAutomation } from './harness/automation.ts';
import { findWhyUnreachable } from './harness/public-index.ts';

const EXAMPLES = fileURLToPath(new URL('../examples/ansible', import.meta.url));
const ANSIBLE = 'ansible-core==2.19.14';
const HOST = 'lab-00000.example.invalid';
const UNTIL = new Date(Date.now() + 7 * 86_400_000).toISOString().replace(/\.\d+/, '');
const TEST_MS = 10 * 60_000;

// Ansible comes from the public index, which is outside the project.
const missing =
  findTool('python3', process.env.PATH) === null ? 'python3 is not installed' : await findWhyUnreachable();
if (missing !== null) console.log(`skipped: the Ansible collection: ${missing}`);

test.skipIf(missing !== null)(
  'the playbook says in check mode what it would change, changes it once, and the token is in no log',
  async () => {
    const folder = tmpDir('tidegate-ansible-');
    onTestFinished(() => folder.remove());
    const { server, operator, token } = await openAutomation(join(folder.path, 'data'));
    const program = await install(folder.path);
    const play = async (...args: string[]) => {
      const said = await runTool(
        program,
        [join(EXAMPLES, 'site.yml'), '-vvv', '-e', `host=${HOST}`, '-e', `until=${UNTIL}`, ...args],
        {
          cwd: folder.path,
          env: {
            ...{ TIDEGATE_SERVER: server.url, TIDEGATE_TOKEN: token, ANSIBLE_COLLECTIONS_PATH: EXAMPLES },
            ...{ HOME: folder.path, LC_ALL: 'C.UTF-8', ANSIBLE_LOCALHOST_WARNING: 'false' },
          },
        },
      );
      expect(said).not.toContain(token);
      return said;
    };
    const changed = (said: string) => Number(/changed=(\d+)/.exec(said)?.[1]);
    const state = async () => {
      const hosts = await operator.call('GET', `/api/v1/agents?q=${HOST}`);
      const holds = await operator.call('GET', '/api/v1/holds');
      return { host: hosts.body, holds: holds.body };
    };

    expect(changed(await play('--check'))).toBe(3);
    expect(await state()).toMatchObject({ host: { items: [{ group: null }] }, holds: { total: 0 } });
    expect(changed(await play())).toBe(3);
    const made = {
      host: { items: [{ group: 'web', tags: ['env=prod', 'role=web'] }] },
      holds: { total: 1, items: [{ state: 'in_force', scope: { groups: ['web'] } }] },
    };
    expect(await state()).toMatchObject(made);
    expect(changed(await play())).toBe(0);
    expect(await state()).toMatchObject(made);

    // Another host is asked to enrol; what it enrols with is in no log.
    const enrolling = await play('-e', 'host=new-1', '--start-at-task', 'Let the host enrol').catch(String);
    expect(enrolling).toContain('no host is named new-1');
    const { body } = await operator.call('GET', '/api/v1/admin/registration-tokens');
    expect(body).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ label: 'ansible: new-1' })]),
    });
    expect(enrolling).not.toMatch(/tgr_[\w-]{20}/);
    await expect(play('-e', `until=yesterday`, '-e', 'host=nobody')).rejects.toThrow(
      'no host is named nobody',
    );
  },
  TEST_MS,
);

/** Installs it from the index that this machine's pip is configured for. */
async function install(folder: string): Promise<string> {
  const python = findTool('python3', process.env.PATH);
  if (python === null) throw new Error('python3 is not installed');
  const venv = join(folder, 'venv');
  await runTool(python, ['-m', 'venv', venv]);
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? '']));
  const quiet = ['-q', '--disable-pip-version-check', '--no-cache-dir'];
  await runTool(join(venv, 'bin/python'), ['-m', 'pip', 'install', ...quiet, ANSIBLE], { env });
  return join(venv, 'bin/ansible-playbook');
}
