import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeUpdates } from '../harness/update-scene.ts';

const HOUR_MS = 3_600_000;
const PHONE = { width: 390, height: 844 };

describeUpdates('why something is stuck, in the console', (scene) => {
  test('from the overview the reason is two clicks away', async () => {
    const { operator } = scene.stage;
    const { agent, hostname, idOf } = await scene.hostWith(['curl']);
    await operator.approved(idOf('curl'));
    const blackout = {
      name: 'Summer sale',
      reason: 'The shop earns its year.',
      scope: { kind: 'some', groups: [], hosts: [agent.agentId] },
      times: {
        kind: 'once',
        starts_at: new Date(Date.now() - HOUR_MS).toISOString(),
        ends_at: new Date(Date.now() + 26 * HOUR_MS).toISOString(),
      },
    };
    expect((await operator.call('POST', '/api/v1/blackouts', blackout)).status).toBe(201);
    const page = await scene.openAs();
    const open = async () => {
      await page.goto('/');
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      const act = page.getByRole('link', { name: /^See which: \d+ approved installations? ha/ });
      await act.waitFor({ timeout: 60_000 });
      await act.click();
      await page.getByRole('link', { name: 'install an update' }).first().waitFor();
    };
    await open();
    await page.getByText('curl').first().waitFor();
    await inspect(page, 'stuck-list');
    await page.getByRole('row', { name: hostname }).getByRole('link', { name: 'install an update' }).click();
    await page.getByText('Waits for the end of the blackout Summer sale').waitFor();
    await inspect(page, 'stuck-command');
    await page.setViewportSize(PHONE);
    await inspect(page, 'stuck-command-390');
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);

    for (const [name, url] of [
      ['update', `/updates/${idOf('curl')}`],
      ['host', `/hosts/${agent.agentId}`],
    ] as const) {
      await page.goto(url);
      await page.getByText('Waits for the end of the blackout Summer sale').waitFor();
      await inspect(page, `stuck-${name}-390`);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await inspect(page, 'stuck-host');
  });
});
