import { expect, test } from 'vitest';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
/** The history is written at least once a minute, and a busy machine takes longer. */
const poll = <T>(look: () => T) => expect.poll(look, { timeout: 90_000 });

describeConsole('the overview of the console', { hosts: 4, operators: [VIEWER] }, (scene) => {
  const answer = async (path: string) => JSON.stringify((await scene.stage.operator.call('GET', path)).body);

  test('the first screen answers three questions, and each number links to the list that it counts', async () => {
    await poll(() => answer('/api/v1/overview')).toContain('"hosts_enrolled":{"count":4,');
    const page = await scene.openAs();
    await page.goto('/');
    for (const name of ['What needs me?', 'What changed?', 'Can I trust this?', 'Verdicts of open updates'])
      await page.getByRole('heading', { name }).waitFor();
    const enrolled = page.getByRole('link', { name: /hosts enrolled/ });
    await poll(() => enrolled.innerText()).toMatch(/^4\s/);
    await page.getByRole('img', { name: /^Open updates by verdict: \d+ clear, \d+ vulnerable/ }).waitFor();
    await page.getByText('No database restore detected').waitFor();
    await inspect(page, 'overview');
    await enrolled.click();
    await page.getByRole('heading', { name: 'Events', exact: true }).waitFor();
    await poll(() => page.locator('main tbody tr').count()).toBe(4);
    expect(new URL(page.url()).searchParams.get('type')).toBe('AGENT_ENROLLED');
  });

  test('every chart is also available as a table', async () => {
    await poll(() => answer('/api/v1/overview/history')).toContain('"day":');
    const page = await scene.openAs(VIEWER);
    await page.goto('/');
    await page.getByRole('heading', { name: 'Age of open updates' }).waitFor();
    expect(await page.locator('main canvas').count()).toBe(0);
    await page.getByRole('button', { name: 'Show the scales' }).first().press('Enter');
    await page.locator('main canvas').first().waitFor();
    await page.getByText('Show as a table').first().click();
    await page.getByRole('table', { name: 'Age of open updates' }).waitFor();
    await inspect(page, 'overview-table');
  });

  test('a viewer is offered nothing that adds a host', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/');
    await page.getByRole('heading', { name: 'What needs me?' }).waitFor();
    expect(await page.getByText('registration tokens about to expire').count()).toBe(0);
    expect(await page.getByRole('button', { name: /command for the first host/ }).count()).toBe(0);
  });
});

describeConsole('the overview of an empty console', { hosts: 0 }, (scene) => {
  test('before the first host, the page shows the command that enrols it, and then that it is connected', async () => {
    const page = await scene.openAs();
    await page.goto('/');
    await page.getByRole('heading', { name: 'No host has joined yet' }).waitFor();
    await inspect(page, 'overview-first');
    await page.getByRole('button', { name: 'Show the line for the first host' }).click();
    const line = await page.getByTitle(/TIDEGATE_TOKEN=/).innerText();
    const registrationToken = /tgr_[\w-]{43}/.exec(line)?.[0] ?? '';
    await enrolBareAgent(scene.stage.server.url, {
      registrationToken,
      machineId: 'machine-1',
      hostname: 'first-01',
    });
    await page.getByText('first-01 connected').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('heading', { name: 'What needs me?' }).waitFor();
  });
});
