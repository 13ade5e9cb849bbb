import { AgentItem } from '@tidegate/protocol/agents-api';
import type { Page } from 'playwright-core';
import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import type { ConsoleStage } from '../harness/console-stage.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { expectAnswer } from '../harness/operator.ts';

const PASSWORD = 'a long enough password';
const GROUP = 'rack 4';
const APPROVER = { username: 'berta', password: PASSWORD };
const ADMIN = { username: 'adam', password: PASSWORD };
/** Hosts of their group, and hosts without a group. */
const OWN = ['web-00000.example.invalid', 'web-00001.example.invalid'];
const FOREIGN = ['web-00002.example.invalid', 'web-00003.example.invalid'];
/** Pages about the whole fleet. */
const OF_THE_FLEET = [
  ['/policies', 'Policies'],
  ['/blackouts', 'Blackouts'],
  ['/holds', 'Holds'],
  ['/exceptions', 'Age exceptions'],
  ['/statements', 'Vulnerability statements'],
  ['/origins', 'Third-party origins'],
  ['/divergences', 'Divergences'],
  ['/signing-keys', 'Signing keys'],
  ['/rate-limits', 'Rate limits'],
  ['/operators', 'Operators'],
] as const;
const rows = (page: Page) => page.locator('main tbody tr');

async function hostsOf({ operator }: ConsoleStage): Promise<AgentItem[]> {
  const answer = await operator.call('GET', '/api/v1/agents?sort=hostname');
  return expectAnswer(answer, 200, Type.Object({ items: Type.Array(AgentItem) })).items;
}

async function bindOperators(stage: ConsoleStage): Promise<void> {
  const hosts = await hostsOf(stage);
  const ids = hosts.flatMap(({ id, hostname }) => (OWN.includes(hostname) ? [id] : []));
  await stage.operator.call('POST', '/api/v1/agents/group', { agent_ids: ids, group: GROUP });
  for (const [operator, role] of [
    [APPROVER, 'approver'],
    [ADMIN, 'admin'],
  ] as const) {
    const asked = { ...operator, role, groups: [GROUP] };
    expect((await stage.operator.call('POST', '/api/v1/admin/operators', asked)).status).toBe(201);
  }
}

const scenery = { hosts: 4, prepare: bindOperators };

describeConsole('an operator who is bound to a host group, in the console', scenery, (scene) => {
  async function foreignHost(): Promise<string> {
    const host = (await hostsOf(scene.stage)).find(({ hostname }) => hostname === FOREIGN[0]);
    return host?.id ?? '';
  }

  test('sees only the hosts of the group in every list', async () => {
    const page = await scene.openAs(APPROVER);
    await page.goto('/hosts');
    await expect.poll(() => rows(page).count()).toBe(2);
    await page.getByText(`Can see: ${GROUP}`).waitFor();
    await inspect(page, 'bound-hosts');
    await page.goto('/updates?state=pending');
    await expect.poll(() => rows(page).count()).toBe(12);
    for (const path of ['/updates?state=pending', '/packages', '/commands', '/events']) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByText('as of').first().waitFor();
      for (const hostname of FOREIGN) expect(await page.getByText(hostname).count()).toBe(0);
    }
    await page.goto(`/updates?host=${FOREIGN[0]}`);
    await page.getByRole('heading', { name: 'No updates match the filter' }).waitFor();
  });

  test('gets the same answer for a host of another group as for one that does not exist', async () => {
    const page = await scene.openAs(APPROVER);
    const id = await foreignHost();
    for (const path of [`/hosts/${id}`, `/hosts/${id}/inventory`]) {
      await page.goto(path);
      await page.getByRole('alert').getByText('There is no such agent.').waitFor();
      expect(await page.getByText(FOREIGN[0] ?? '').count()).toBe(0);
    }
  });

  test('acts on a host of the group', async () => {
    const page = await scene.openAs(APPROVER);
    await page.goto('/hosts');
    await page.getByRole('link', { name: OWN[0] ?? '' }).click();
    await page.getByRole('button', { name: 'Scan now' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Scan now' }).click();
    await expect.poll(() => scene.stage.operator.commands({ action: 'scan' })).toHaveLength(1);
  });

  test('has an overview of the group that says why it has no history, and draws none', async () => {
    const page = await scene.openAs(APPROVER);
    await page.goto('/');
    await page.getByText(`The hosts of ${GROUP}, as of`).waitFor();
    const totals = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'The hosts of your groups' }) });
    await expect.poll(() => totals.locator('dd').first().innerText()).toBe('2');
    await page.getByText('so there is no history of the hosts of').waitFor();
    expect(await page.getByRole('heading', { name: 'Age of open updates' }).count()).toBe(0);
    expect(await page.getByRole('img', { name: /Hosts seen on|Age of open updates/ }).count()).toBe(0);
    await inspect(page, 'bound-overview');
  });

  test.each(OF_THE_FLEET)(
    '%s is not in the menu, and opened by its address it says why it is empty',
    async (path, title) => {
      const page = await scene.openAs(ADMIN);
      await page.goto(path);
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      await page.getByRole('heading', { name: 'This is about the whole fleet' }).waitFor();
      await page.getByText(`You can only see the hosts of ${GROUP}`).waitFor();
      const pages = page.getByRole('navigation', { name: 'Pages', exact: true });
      await pages.getByRole('link', { name: 'Updates' }).waitFor();
      expect(await pages.getByRole('link', { name: title }).count()).toBe(0);
      expect(await page.locator('main').getByRole('button').count()).toBe(0);
      if (path === '/operators') await inspect(page, 'bound-fleet-page');
    },
  );

  test('the settings say that the state of restores is hidden', async () => {
    const page = await scene.openAs(ADMIN);
    await page.goto('/settings');
    const panel = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Backups and restore', exact: true }) });
    await panel.getByText('information about the whole fleet is not shown to you').waitFor();
    await inspect(page, 'bound-settings');
  });
});
