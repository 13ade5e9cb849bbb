import { join } from 'node:path';
import { AgentPackages } from '@tidegate/protocol/agent-packages-api';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Value } from 'typebox/value';
import { afterAll, expect, test } from 'vitest';
import { installLine, removalLine } from '../../apps/console/src/enrolment/line-rules.ts';
import { layAgents } from '../../apps/server/src/testing/agents-place.ts';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import type { ConsoleStage } from '../harness/console-stage.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { clockAhead } from '../harness/rollouts.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
const HOUR_MS = 3_600_000;
const HOSTILE = '"><img src=x onerror=alert(1)>';
/** Of software for agents: empty at first. */
const agents = tmpDir('tidegate-agents-');
afterAll(agents.remove);
const OPTIONS = { hosts: 1, operators: [VIEWER], env: { SERVICE_AGENTS_DIR: join(agents.path, 'agents') } };

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
    await expect.poll(() => page.getByRole('cell', { name: 'to withdraw', exact: true }).count()).toBe(0);
    await page.getByLabel('Label').fill('a group that cannot be');
    await page.getByLabel('Group').fill(' two spaces ');
    await page.getByRole('button', { name: 'Create a token' }).click();
    await page.locator('[aria-invalid=true]').waitFor();
    await expect.poll(() => page.getByLabel('Group').getAttribute('aria-invalid')).toBe('true');
  });

  test('a viewer is referred to an admin and is offered no form', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/enrolment');
    await page.getByRole('heading', { name: 'Only admins can add hosts' }).waitFor();
    expect(await page.getByRole('button', { name: 'Create a token' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Add hosts' }).count()).toBe(0);
  });
});

/** A token of a day that is nearly over for the server, and one that has expired. */
async function letTokensEnd({ server, operator }: ConsoleStage): Promise<void> {
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const create = async (token: object) => {
    const { status } = await operator.call('POST', '/api/v1/admin/registration-tokens', token);
    expect(status).toBe(201);
  };
  await create({
    label: 'for rack 4',
    seats: 5,
    group: 'rack 4',
    tags: ['env=prod'],
    expires_at: at(24 * HOUR_MS),
  });
  await create({ label: 'of yesterday', seats: 2, expires_at: at(2_000) });
  await server.restart(clockAhead(20 * HOUR_MS));
}

describeConsole('registration tokens that end', { hosts: 1, prepare: letTokensEnd }, (scene) => {
  test('one that expires soon is an act, which leads to it, and renewing it settles the act', async () => {
    const page = await scene.openAs();
    await page.goto('/');
    await page.getByRole('link', { name: 'Renew: 1 line that adds hosts expires soon' }).click();
    await page.getByText('expires soon').waitFor();
    const rows = page.getByRole('table', { name: 'Registration tokens' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole('button', { name: 'Renew for rack 4' }).click();
    await page.getByRole('heading', { name: /^Renew .*for rack 4/ }).waitFor();
    expect(await page.getByRole('spinbutton', { name: 'Hosts', exact: true }).inputValue()).toBe('5');
    expect(await page.getByLabel('Group').inputValue()).toBe('rack 4');
    await page.getByLabel('Valid for').selectOption('720');
    await inspect(page, 'enrolment-renew');
    await page.getByRole('button', { name: 'Renew the token' }).click();
    await page.getByTitle(/TIDEGATE_TOKEN=/).waitFor();
    await page.getByRole('heading', { name: 'No registration tokens match the filter' }).waitFor();
    await page.getByRole('button', { name: 'Remove the filter expires soon' }).click();
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'for rack 4' }).count()).toBe(1);
    await page.goto('/');
    await page.getByRole('heading', { name: 'To do' }).waitFor();
    await expect
      .poll(async () => {
        await page.reload();
        await page.getByRole('heading', { name: 'To do' }).waitFor();
        return page.getByText('line that adds hosts').count();
      })
      .toBe(0);
  });

  test('the new one is shown also where the old one could not be withdrawn', async () => {
    const page = await scene.openAs();
    await page.goto('/enrolment');
    await page.route('**/registration-tokens/*', (route) =>
      route.request().method() === 'DELETE' ? route.abort() : route.continue(),
    );
    await page.getByRole('button', { name: 'Renew for rack 4' }).click();
    await page.getByRole('button', { name: 'Renew the token' }).click();
    await page.getByTitle(/TIDEGATE_TOKEN=/).waitFor();
    await page.getByText('The old token is not withdrawn and still lets hosts in.').first().waitFor();
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'for rack 4' }).count()).toBe(2);
  });

  test('one that has expired lets nobody in: it is removed, not withdrawn', async () => {
    const page = await scene.openAs();
    await page.goto('/enrolment');
    const row = page.getByRole('row').filter({ hasText: 'of yesterday' });
    await row.getByText('expired', { exact: true }).waitFor();
    expect(await row.getByRole('button', { name: /Withdraw/ }).count()).toBe(0);
    await row.getByRole('button', { name: 'Remove of yesterday' }).click();
    await page
      .getByRole('dialog')
      .getByText(/has expired and lets no host in/)
      .waitFor();
    await inspect(page, 'enrolment-remove');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The token is removed.').waitFor();
    await expect.poll(() => row.count()).toBe(0);
  });
});
