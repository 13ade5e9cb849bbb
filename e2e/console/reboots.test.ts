import { CheckInAnswer } from '@tidegate/protocol/agent-api';
import { CommandPayload } from '@tidegate/protocol/documents';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import type { BareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { fieldsOf } from '../harness/forge.ts';
import { addHost } from '../harness/offer-updates.ts';
import { expectAnswer } from '../harness/operator.ts';
import { OFTEN } from '../harness/server-process.ts';
import { VIEWER } from '../harness/update-scene.ts';

const HOUR_MS = 3_600_000;

describeConsole('reboots in the console', { hosts: 0, env: OFTEN, operators: [VIEWER] }, (scene) => {
  test('the page says what each host waits for; a failed slot is released and a host taken out by keyboard', async () => {
    const page = await scene.openAs();
    await page.goto('/reboots');
    await page.getByText('No host is in the queue').waitFor();
    await page.getByText('No group has had a reboot yet.').waitFor();

    const { operator, server } = scene.stage;
    const hosts = new Map<string, BareAgent>();
    for (const name of ['web-1', 'web-2']) {
      const agent = await addHost({ url: server.url, operator }, name);
      hosts.set(agent.agentId, agent);
      await operator.moveTo(agent.agentId, 'web');
    }
    const limits = { group: 'web', max_at_once: 1, min_healthy: 0, halt_after: 1 };
    expect((await operator.call('PUT', '/api/v1/reboot-slots', limits)).status).toBe(204);
    const ask = {
      ...{ kind: 'reboot', scope: { kind: 'some', groups: ['web'], hosts: [] }, only_needed: false },
      ...{ reason: 'the new kernel', deadline: new Date(Date.now() + HOUR_MS).toISOString() },
    };
    expect(await operator.call('POST', '/api/v1/reboots', ask)).toMatchObject({ body: { queued: 2 } });
    const row = (name: string) => page.getByRole('row', { name: new RegExp(name) });
    await row('web-1').getByText('queued').waitFor();

    // One of them gets the slot, and fails.
    let failed = '';
    await expect
      .poll(async () => {
        failed = await failsReboot([...hosts.values()]);
        return failed;
      })
      .not.toBe('');
    const { hostname: first } = expectName(await operator.call('GET', `/api/v1/agents/${failed}`));
    const other = first === 'web-1' ? 'web-2' : 'web-1';
    await page.getByText('halted', { exact: true }).waitFor();
    await page.getByText('1 of 1 slot taken, 1 host waiting').waitFor();
    await row(other).getByText('Waits until a failed host of its group is released.').waitFor();
    await inspect(page, 'reboots');

    await page.getByRole('button', { name: `Release the slot of ${first}` }).press('Enter');
    const release = page.getByRole('dialog', { name: `Release the slot of ${first}` });
    await release.getByLabel('Reason').focus();
    await page.keyboard.type('It was started by hand.');
    await inspect(page, 'reboots-release');
    await release.getByRole('button', { name: 'Release the slot' }).press('Enter');
    await expect.poll(() => release.count()).toBe(0);
    await expect.poll(() => page.getByText('halted', { exact: true }).count()).toBe(0);

    await page.getByRole('button', { name: `Cancel the reboot of ${other}` }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel it' }).press('Enter');
    await page.getByLabel('State', { exact: true }).selectOption('cancelled');
    await row(other).getByText('cancelled').waitFor();
    expect(await operator.events({ type: 'reboot_slot_released' })).toHaveLength(1);
  });

  test('a viewer can look, and changes nothing', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/reboots');
    await page.getByRole('row', { name: /web-1/ }).waitFor();
    expect(await page.getByRole('button', { name: /^(cancel|release)/i }).count()).toBe(0);
  });
});

/** The hosts check in; the one that is given a reboot says that it failed. Its id, or nothing. */
async function failsReboot(agents: readonly BareAgent[]): Promise<string> {
  const request = {
    ...{ agent_version: '0.1.0', boot_id: 'boot', uptime_seconds: 1, received: [], key_set_version: 1 },
    inventory_digest: {},
  };
  for (const agent of agents) {
    const { commands } = expectAnswer(await agent.call('POST', '/check-in', request), 200, CheckInAnswer);
    for (const envelope of commands) {
      const { action, command_id: id } = Value.Parse(CommandPayload, fieldsOf(envelope));
      if (action !== 'reboot') continue;
      const result = { status: 'failed', reason: 'systemd did not take it' };
      expect(await agent.call('POST', `/commands/${id}/result`, result)).toMatchObject({ status: 200 });
      return agent.agentId;
    }
  }
  return '';
}

function expectName({ body }: { body: unknown }): { hostname: string } {
  expect(body).toMatchObject({ hostname: expect.any(String) });
  return { hostname: String(Object.entries(body ?? {}).find(([name]) => name === 'hostname')?.[1]) };
}
