import { CheckInAnswer } from '@tidegate/protocol/agent-api';
import { CommandQueued } from '@tidegate/protocol/agents-api';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { BareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { addHost } from '../harness/offer-updates.ts';
import { expectAnswer } from '../harness/operator.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;

describeConsole('commands in the console', { hosts: 0, operators: [VIEWER] }, (scene) => {
  let hosts = 0;
  async function hostAsked(to: 'scan' | 'reboot' = 'scan') {
    const hostname = `story-${++hosts}`;
    const agent = await addHost({ url: scene.stage.server.url, operator: scene.stage.operator }, hostname);
    const asked = await scene.stage.operator.call('POST', `/api/v1/agents/${agent.agentId}/${to}`, {});
    const { command_id: id } = expectAnswer(asked, 202, CommandQueued);
    return { agent, hostname, id };
  }
  /** Checks in once, which fetches open commands and acknowledges `received` ones. */
  async function fetchCommands(agent: BareAgent, received: readonly string[] = []) {
    const answer = await agent.call('POST', '/check-in', {
      ...{ agent_version: '0.1.0', boot_id: 'boot', uptime_seconds: 1 },
      ...{ received, key_set_version: 1, inventory_digest: {} },
    });
    expectAnswer(answer, 200, CheckInAnswer);
  }
  async function begin({ agent, id }: { agent: BareAgent; id: string }) {
    await fetchCommands(agent);
    await fetchCommands(agent, [id]);
    const running = { status: 'running', started_at: new Date().toISOString() };
    expect((await agent.call('POST', `/commands/${id}/result`, running)).status).toBe(200);
  }
  const write = (agent: BareAgent, id: string, piece: { seq: number; data: string }) =>
    agent.call('POST', `/commands/${id}/output`, { stream: 'stdout', ...piece });
  async function end({ agent, id }: { agent: BareAgent; id: string }, status: 'success' | 'failed') {
    const result = {
      ...{ status, finished_at: new Date().toISOString() },
      ...(status === 'failed' ? { reason: 'the disk is full', exit_code: 2 } : { exit_code: 0 }),
    };
    expect((await agent.call('POST', `/commands/${id}/result`, result)).status).toBe(200);
  }
  const log = (page: Page) => page.getByRole('region', { name: 'Output of the command' });

  test('output appears as the host writes it, as text without terminal sequences', async () => {
    const { agent, hostname, id } = await hostAsked();
    await begin({ agent, id });
    const page = await scene.openAs();
    await page.goto(`/commands/${id}`);
    await page.getByRole('heading', { name: `scan on ${hostname}` }).waitFor();
    await page.getByText('No output yet.').waitFor();
    await write(agent, id, { seq: 0, data: 'reading \x1b[3' });
    await write(agent, id, { seq: 1, data: '1mlists\x1b[0m <b>now</b>\n' });
    await log(page).getByText('reading lists <b>now</b>').waitFor();
    await write(agent, id, { seq: 2, data: `${'more\n'.repeat(200)}the last line\n` });
    await log(page).getByText('the last line').waitFor();
    await inspect(page, 'command');
    const fromEnd = () =>
      log(page).evaluate(
        ({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight,
      );
    await expect.poll(fromEnd).toBeLessThan(5);
    await page.getByRole('button', { name: 'Pause' }).click();
    await log(page).evaluate((element) => {
      element.scrollTop = 0;
    });
    await write(agent, id, { seq: 3, data: 'after the pause\n' });
    await expect.poll(() => log(page).innerText()).toContain('after the pause');
    expect(await log(page).evaluate(({ scrollTop }) => scrollTop)).toBe(0);
    await page.getByRole('button', { name: 'Follow' }).click();
    await expect.poll(fromEnd).toBeLessThan(5);
    await end({ agent, id }, 'success');
    await page.getByText('Finished: this is the complete output.').waitFor();
    await page.getByText('success').waitFor();
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByText('The output is copied.').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^reading lists <b>now<\/b>\nmore/);
  });

  test('a failed command is retried by a new command', async () => {
    const { agent, id } = await hostAsked();
    await begin({ agent, id });
    await end({ agent, id }, 'failed');
    const page = await scene.openAs();
    await page.goto(`/commands/${id}`);
    await page.getByText('the disk is full').waitFor();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('This is the new command.').waitFor();
    await expect.poll(() => page.url()).not.toContain(id);
    await page.getByRole('button', { name: 'Cancel the command' }).waitFor();
  });

  test('a command is cancelled after a confirmation, until its host has fetched it', async () => {
    const { agent, id } = await hostAsked('reboot');
    const page = await scene.openAs();
    await page.goto(`/commands/${id}`);
    await page.getByRole('button', { name: 'Cancel the command' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click();
    expect((await scene.stage.operator.commands()).find((one) => one.id === id)?.status).toBe('pending');
    await page.getByRole('button', { name: 'Cancel the command' }).click();
    await dialog.getByRole('button', { name: 'Cancel the command' }).click();
    await page.getByText('The command is cancelled.').waitFor();
    await page.getByText('cancelled', { exact: true }).waitFor();
    const other = await hostAsked();
    await begin(other);
    await page.goto(`/commands/${other.id}`);
    await page.getByText('running', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Cancel the command' }).count()).toBe(0);
    expect(agent.agentId).not.toBe(other.agent.agentId);
  });

  test('the list filters by its URL, leads to each command and its host, and is sound in both themes', async () => {
    const { agent, hostname, id } = await hostAsked('reboot');
    const page = await scene.openAs();
    await page.goto('/commands');
    await page.getByLabel('Command', { exact: true }).selectOption('reboot');
    await expect.poll(() => new URL(page.url()).search).toBe('?action=reboot');
    await page.goto(`/commands?agent_id=${agent.agentId}&action=reboot`);
    const row = page.getByRole('row', { name: new RegExp(hostname) });
    await row.waitFor();
    await inspect(page, 'commands');
    await expect
      .poll(() => row.getByRole('link', { name: hostname }).getAttribute('href'))
      .toBe(`/hosts/${agent.agentId}`);
    await row.getByRole('link', { name: 'reboot' }).click();
    await expect.poll(() => page.url()).toContain(`/commands/${id}`);
    await page.goBack();
    await page.getByLabel('Status', { exact: true }).selectOption('failed');
    await page.getByText('No commands match the filter').waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('');
  });

  test('a viewer is offered no action', async () => {
    const { id } = await hostAsked();
    const page = await scene.openAs(VIEWER);
    await page.goto(`/commands/${id}`);
    await page.getByText('pending', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: /cancel the command|retry/i }).count()).toBe(0);
  });
});
