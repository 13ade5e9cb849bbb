import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { fetchCommands } from '../harness/fetch-commands.ts';
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
      await act.waitFor();
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

  test('an approval that needs a second signature says so, and where to add it', async () => {
    const { operator } = scene.stage;
    const { agent, hostname, idOf } = await scene.hostWith(['first', 'second']);
    await operator.approved(idOf('first'));
    for (const { action, command_id: id } of await fetchCommands(agent)) {
      if (action !== 'install_update') continue;
      const reason =
        'host_policy (second_signature_missing): the approval needs signatures by 1 of the 1 key(s) of the host';
      const answer = await agent.call('POST', `/commands/${id}/result`, { status: 'refused', reason });
      expect(answer).toMatchObject({ status: 200 });
    }
    await operator.approved(idOf('second'));
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}`);
    const wait = page.getByText(/^Waits for a second signature on its approval: this host has refused one/);
    await wait.waitFor();
    await inspect(page, 'stuck-signature-host');
    await page.setViewportSize(PHONE);
    await inspect(page, 'stuck-signature-host-390');
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.getByRole('link', { name: 'Add it on the page of the update' }).click();
    await page.waitForURL(`**/updates/${idOf('second')}`);
    await page.getByRole('heading', { name: `second on ${hostname}` }).waitFor();
    await wait.waitFor();
    await page.getByText('Countersign', { exact: true }).click();
    await inspect(page, 'stuck-signature-390');
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.getByLabel('Key id').fill('second-key');
    await page.getByLabel('Signature', { exact: true }).fill(`${'A'.repeat(86)}==`);
    await page.getByRole('button', { name: 'Add the signature' }).click();
    await page.getByText('The token has 2 signatures now.').waitFor();
    await wait.waitFor({ state: 'detached' });
  });

  test('a reboot that waits for a slot says who has it', async () => {
    const { operator } = scene.stage;
    const [holder, waiting] = [await scene.hostWith([]), await scene.hostWith([])];
    for (const { agent } of [holder, waiting]) await operator.moveTo(agent.agentId, 'slots');
    const limits = { group: 'slots', max_at_once: 1, min_healthy: 0, halt_after: 1 };
    expect((await operator.call('PUT', '/api/v1/reboot-slots', limits)).status).toBe(204);
    for (const { agent } of [holder, waiting]) {
      const asked = await operator.call('POST', `/api/v1/agents/${agent.agentId}/reboot`, {});
      expect(asked.status).toBe(202);
      const commands = await fetchCommands(agent);
      expect(commands.map(({ action }) => action)).toEqual(agent === holder.agent ? ['reboot'] : []);
    }
    const page = await scene.openAs();
    await page.goto(`/hosts/${waiting.agent.agentId}`);
    const wait = page.getByText(`a reboot slot: 1 of 1 taken by ${holder.hostname}`);
    await wait.waitFor();
    await inspect(page, 'stuck-slot-host');
    await page.setViewportSize(PHONE);
    await page.getByRole('link', { name: 'See the command: reboot' }).click();
    await page.getByRole('heading', { name: `reboot on ${waiting.hostname}` }).waitFor();
    await wait.waitFor();
    await inspect(page, 'stuck-slot-390');
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.getByRole('link', { name: 'See the reboots' }).click();
    await page.getByRole('heading', { name: 'Reboots', exact: true }).waitFor();
  });
});
