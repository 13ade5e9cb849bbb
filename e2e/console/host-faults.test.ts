import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { addHost } from '../harness/offer-updates.ts';

describeConsole('what is wrong with a host in the console', { hosts: 0 }, (scene) => {
  test('changed hardware is one sentence with the way to rebind, and fits a phone', async () => {
    const { operator, server } = scene.stage;
    const agent = await addHost({ url: server.url, operator }, 'new-board');
    const answer = await fetch(`${server.url}/api/v1/agents/${agent.agentId}/check-in`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${agent.accessToken}`,
        'x-machine-id': 'machine-after-the-repair',
      },
      body: '{}',
    });
    expect(answer.status).toBe(403);
    // Offline after three seconds: until then the host itself may still be there.
    const path = `/api/v1/agents/${agent.agentId}`;
    expect((await operator.call('POST', `${path}/polling`, { interval_seconds: 1 })).status).toBe(202);
    await expect
      .poll(async () => (await operator.call('GET', `${path}/faults`)).body)
      .toMatchObject({ items: [{ kind: 'other_machine', mend: 'rebind' }] });
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}`);
    await page.getByRole('heading', { name: 'What is wrong with this host' }).waitFor();
    await page.getByText('Another machine asks with the credentials of this host').waitFor();
    await inspect(page, 'host-faults');
    await page.setViewportSize({ width: 390, height: 844 });
    await inspect(page, 'host-faults-390');
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page
      .getByRole('button', { name: /^Rebind to the machine that has asked since \d\d:\d\d UTC$/ })
      .click();
    await page.getByRole('dialog', { name: 'Rebind new-board' }).waitFor();
  });

  test('old package lists and a wrong clock say what they mean and what to do on the host, until they are mended', async () => {
    const { operator, server } = scene.stage;
    const agent = await addHost({ url: server.url, operator }, 'clock-from-the-attic');
    await agent.report({
      ...{ scanned_at: new Date().toISOString(), complete: true, updates: [] },
      packages: [{ name: 'bash', version: '5.2.15-2', arch: 'amd64' }],
    });
    const say = async (aheadMinutes: number, listDays: number) => {
      const clock = new Date(Date.now() + aheadMinutes * 60_000).toISOString();
      const lists = { apt: listDays * 86_400 };
      expect((await agent.call('PUT', '/timeliness', { clock, lists })).status).toBe(200);
    };
    await say(26, 9);
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}`);
    await page.getByText("The clock of the host is about 25 minutes ahead of the server's").waitFor();
    await page.getByText('The package lists of apt are 9 days old').waitFor();
    await page.getByText('"nothing to install" is not to be believed').waitFor();
    await inspect(page, 'host-faults-lists');
    await page.setViewportSize({ width: 390, height: 844 });
    await inspect(page, 'host-faults-lists-390');
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.goto(`/hosts/${agent.agentId}/inventory`);
    const age = page.getByRole('region', { name: 'Age of this list' });
    await age.getByText('package lists fetched 9 d ago').waitFor();
    await inspect(page, 'inventory-lists-390');

    await say(0, 0);
    await page.goto(`/hosts/${agent.agentId}`);
    await page.getByRole('heading', { name: 'clock-from-the-attic' }).waitFor();
    await expect.poll(() => page.getByText('The package lists of apt').count()).toBe(0);
    await expect.poll(() => page.getByText('The clock of the host').count()).toBe(0);
  });
});
