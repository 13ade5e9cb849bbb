import { expect, test } from 'vitest';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
const HOSTILE = '"><img src=x onerror=alert(1)>';
/** Waits longer than by default, as a busy machine renders slowly. */
const poll = <T>(look: () => T) => expect.poll(look, { timeout: 30_000 });

describeConsole('adding hosts in the console', { hosts: 1, operators: [VIEWER] }, (scene) => {
  test('a token is created, its command is shown once, and the hosts appear when they join', async () => {
    const page = await scene.openAs();
    await page.goto('/enrolment');
    await page.getByLabel('Label').fill(HOSTILE);
    await page.getByLabel('Hosts', { exact: true }).fill('2');
    await page.getByLabel('Group').fill('rack 4');
    await page.getByRole('button', { name: 'Create a token' }).click();
    const line = page.getByTitle(/TIDEGATE_TOKEN=/);
    await line.click();
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    expect(copied).toMatch(
      /^TIDEGATE_TOKEN=tgr_[\w-]{43} tidegate-agent enrol --server http:\/\/127\.0\.0\.1:\d+ /,
    );
    await page.getByText('Waiting for the host').waitFor();
    await inspect(page, 'enrolment');
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
