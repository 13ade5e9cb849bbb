import { join } from 'node:path';
import { AgentPackages } from '@tidegate/protocol/agent-packages-api';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Value } from 'typebox/value';
import { afterAll, expect, test } from 'vitest';
import { installLine, removalLine } from '../../apps/console/src/enrolment/line-rules.ts';
import { layAgents } from '../../apps/server/src/testing/agents-place.ts';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
const HOSTILE = '"><img src=x onerror=alert(1)>';
/** Of software for agents: empty at first. */
const agents = tmpDir('tidegate-agents-');
afterAll(agents.remove);
const OPTIONS = { hosts: 1, operators: [VIEWER], env: { SERVICE_AGENTS_DIR: join(agents.path, 'agents') } };
/** Waits longer than by default, as a busy machine renders slowly. */
const poll = <T>(look: () => T) => expect.poll(look, { timeout: 30_000 });

describeConsole('adding hosts in the console', OPTIONS, (scene) => {
  test('a server without packages shows the commands for a host that has the agent, and the hosts appear when they join', async () => {
    const page = await scene.openAs();
    await page.goto('/enrolment');
    await page.getByLabel('Label').fill(HOSTILE);
    await page.getByRole('spinbutton', { name: 'Hosts', exact: true }).fill('2');
    await page.getByLabel('Group').fill('rack 4');
    await page.getByRole('button', { name: 'Create a token' }).click();
    const line = page.getByTitle(/TIDEGATE_TOKEN=/);
    await line.click();
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    expect(copied).toMatch(
      /^TIDEGATE_TOKEN=tgr_[\w-]{43} tidegate-agent enrol --server http:\/\/127\.0\.0\.1:\d+ /,
    );
    await page.getByText('There is no software for agents in').waitFor();
    await page.getByText('Waiting for the host').waitFor();
    await inspect(page, 'enrolment-without-packages');
    const registrationToken = /tgr_[\w-]{43}/.exec(copied)?.[0] ?? '';
    const join = (hostname: string) =>
      enrolBareAgent(scene.stage.server.url, {
        registrationToken,
        machineId: `machine-${hostname}`,
        hostname,
      });
    const { agentId } = await join('db-01');
    await page.getByText('db-01 connected').waitFor();
    await page.getByText('Waiting for 1 more host').waitFor();
    await join('db-02');
    await page.getByText('db-02 connected').waitFor();
    await page.getByRole('row').filter({ hasText: '2 of 2' }).getByText('used up').waitFor();
    const { body } = await scene.stage.operator.call('GET', `/api/v1/agents/${agentId}`);
    expect(body).toMatchObject({ group: 'rack 4' });
    await page.reload();
    await page.getByRole('cell', { name: HOSTILE, exact: true }).waitFor();
    expect(await page.getByText('TIDEGATE_TOKEN=').count()).toBe(0);
  });

  test('the page shows exactly the line of the rules for each system, processor and program', async () => {
    const names = ['linux-x64.deb', 'linux-arm64.deb', 'linux-x64.rpm', 'linux-x64.tar.gz'];
    layAgents(
      join(agents.path, 'agents'),
      Object.fromEntries(names.map((name) => [`tidegate-agent_9.9.9_${name}`, name])),
    );
    const { server, operator } = scene.stage;
    const { body } = await operator.call('GET', '/api/v1/admin/agent-packages');
    const { files } = Value.Parse(AgentPackages, body);
    expect(files).toHaveLength(names.length);
    const page = await scene.openAs();
    await page.goto('/enrolment');
    await page.getByLabel('Label').fill('one line');
    await page.getByRole('button', { name: 'Create a token' }).click();
    const shown = page.getByTitle(/TIDEGATE_TOKEN=/);
    const token = /tgr_[\w-]{43}/.exec((await shown.getAttribute('title')) ?? '')?.[0] ?? '';
    for (const file of files) {
      for (const fetcher of ['curl', 'wget'] as const) {
        await page.getByLabel('System').selectOption(file.format);
        await page.getByLabel('Processor').selectOption(file.target);
        await page.getByLabel('Download with').selectOption(fetcher);
        await shown.click();
        const line = installLine({ origin: server.url, token, file, fetcher, caSha256: null });
        expect(await page.evaluate('navigator.clipboard.readText()')).toBe(line);
      }
    }
    await page.getByText('Containers, hosts without systemd').click();
    await page.getByTitle(`Copy the line: ${removalLine('tar.gz')}`).waitFor();
    await inspect(page, 'enrolment');
    await page.getByLabel('Processor').selectOption('linux-arm64');
    await page.getByText('This server has no package for this system on this processor.').waitFor();
    await page.getByLabel('System').selectOption('deb');
    await page.setViewportSize({ width: 390, height: 844 });
    await inspect(page, 'enrolment-narrow');
  });

  test('a token is withdrawn, and a refusal is shown beside its field', async () => {
    await scene.stage.operator.call('POST', '/api/v1/admin/registration-tokens', { label: 'to withdraw' });
    const page = await scene.openAs();
    await page.goto('/enrolment');
    await page.getByRole('button', { name: 'Withdraw to withdraw' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
    await page.getByText('The token is withdrawn.').waitFor();
    await poll(() => page.getByRole('cell', { name: 'to withdraw', exact: true }).count()).toBe(0);
    await page.getByLabel('Label').fill('a group that cannot be');
    await page.getByLabel('Group').fill(' two spaces ');
    await page.getByRole('button', { name: 'Create a token' }).click();
    await page.locator('[aria-invalid=true]').waitFor();
    expect(await page.getByLabel('Group').getAttribute('aria-invalid')).toBe('true');
  });

  test('a viewer is referred to an admin and is offered no form', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/enrolment');
    await page.getByRole('heading', { name: 'Only admins can add hosts' }).waitFor();
    expect(await page.getByRole('button', { name: 'Create a token' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Add hosts' }).count()).toBe(0);
  });
});
