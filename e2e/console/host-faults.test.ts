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
      .poll(async () => (await operator.call('GET', `${path}/faults`)).body, { timeout: 20_000 })
      .toMatchObject({ items: [{ kind: 'other_machine', mend: 'rebind' }] });
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}`);
    await page.getByRole('heading', { name: 'What is wrong with this host' }).waitFor();
    await page.getByText('Another machine asks with the credentials of this host').waitFor();
    await inspect(page, 'host-faults');
    await page.setViewportSize({ width: 390, height: 844 });
    await inspect(page, 'host-faults-390');
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.getByRole('button', { name: /^Rebind to the machine that asks since \d\d:\d\d UTC$/ }).click();
    await page.getByRole('dialog', { name: 'Rebind new-board' }).waitFor();
  });
});
