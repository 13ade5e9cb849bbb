import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CheckInAnswer, type InventoryPackage } from '@tidegate/protocol/agent-api';
import { CommandPayload } from '@tidegate/protocol/documents';
import type { Page } from 'playwright-core';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import type { BareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { fieldsOf } from '../harness/forge.ts';
import { OFFERED } from '../harness/offer-updates.ts';
import { expectAnswer } from '../harness/operator.ts';
import { describeUpdates } from '../harness/update-scene.ts';

const DAY_MS = 86_400_000;
const PHONE = { width: 390, height: 844 };
const LONG = 'x'.repeat(200);
/** How far the window scrolls sideways. */
const SIDEWAYS = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
const poll = <T>(look: () => T) => expect.poll(look, { timeout: 30_000 });
const rows = (page: Page) => page.locator('main tbody tr');

/** A day of the reader that is over. */
function dayBack(days: number): string {
  const at = new Date(Date.now() - days * DAY_MS);
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((n) => String(n).padStart(2, '0')).join('-');
}

describeUpdates('the history of a host in the console', (scene) => {
  /**
   * A host that first reported ten days ago, with nginx changed by hand five days ago; today an approved installation of nginx,
   * and a package with a long name from outside.
   */
  async function hostWithPast() {
    const host = await scene.hostWith(['nginx', 'sed']);
    const { agent, idOf } = host;
    const report = async (packages: Record<string, string>) => {
      const reported = Object.entries(packages).map(
        ([name, version]): InventoryPackage => ({ name, version, arch: 'amd64' }),
      );
      const scan = { scanned_at: new Date().toISOString(), complete: true, packages: reported, updates: [] };
      expect(await agent.call('PUT', '/inventory/apt', scan)).toMatchObject({ status: 200 });
    };
    const id = idOf('nginx');
    await scene.stage.operator.approved(id);
    await carryOut(agent);
    await report({ nginx: OFFERED.apt, sed: '1.0.0' });
    await report({ nginx: OFFERED.apt, sed: '1.0.0', [LONG]: '1.0.0' });
    const tags = { agent_ids: [agent.agentId], set: ['place=attic'], remove: [] };
    expect(await scene.stage.operator.call('POST', '/api/v1/agents/tags', tags)).toMatchObject({
      status: 200,
    });
    return { ...host, id, report };
  }

  /** Moves what a host has reported so far into the past: nothing else makes a server wait for days. */
  function age(agentId: string, days: number): void {
    using database = new DatabaseSync(join(scene.stage.dataDir, 'tidegate.db'));
    database
      .prepare(
        `UPDATE inventory_changes SET changed_at = changed_at - ? WHERE agent_number =
          (SELECT number FROM inventory_agents WHERE agent_id = ?)`,
      )
      .run(days * DAY_MS, agentId);
    database
      .prepare('UPDATE inventory_reports SET changes_since = changes_since - ? WHERE agent_id = ?')
      .run(days * DAY_MS, agentId);
  }

  test('what was installed on a date takes at most three clicks from the host', async () => {
    const { agent, hostname, report } = await hostWithPast();
    age(agent.agentId, 5);
    await report({ nginx: '9.9.9', new: '1.0.0' });
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}`);
    let clicks = 0;
    const click = async (target: ReturnType<Page['getByRole']>) => {
      clicks++;
      await target.click();
    };
    await click(page.getByRole('link', { name: 'What changed, and what was installed on a day' }));
    await page.getByRole('heading', { name: `History of ${hostname}` }).waitFor();
    await click(page.getByLabel('Installed on'));
    await page.getByLabel('Installed on').fill(dayBack(2));
    await page.getByRole('table', { name: /^What was installed on/ }).waitFor();
    expect(clicks).toBeLessThanOrEqual(3);
    await poll(() => rows(page).count()).toBe(3);
    await page.getByRole('row', { name: `nginx ${OFFERED.apt}` }).waitFor();
    await inspect(page, 'history-on-a-day');

    await page.getByLabel('Compare with').fill(dayBack(0));
    await page.getByRole('table', { name: /^What changed from/ }).waitFor();
    await poll(async () =>
      (await rows(page).allInnerTexts()).map((text) => text.split(/\s+/).slice(0, 2)),
    ).toEqual([
      ['new', 'installed'],
      ['nginx', 'changed'],
      ['sed', 'removed'],
      [LONG, 'removed'],
    ]);
    await inspect(page, 'history-compared');

    // Before the first report nothing is known, and none of it is shown.
    await page.getByRole('button', { name: 'Back to the timeline' }).click();
    await page.getByLabel('Installed on').fill(dayBack(30));
    await page.getByText('What was installed on that day is not known.').waitFor();
    await page.getByText(/^apt: known since/).waitFor();
    await page.getByRole('heading', { name: 'Not known', exact: true }).waitFor();
    expect(await rows(page).count()).toBe(0);
    await inspect(page, 'history-too-old');
    for (const query of ['', `?on=${dayBack(2)}`, `?on=${dayBack(2)}&with=${dayBack(0)}`]) {
      await page.setViewportSize(PHONE);
      await page.goto(`/hosts/${agent.agentId}/history${query}`);
      await page.getByText(LONG).first().waitFor();
      expect(await page.evaluate(SIDEWAYS), query).toBe(0);
      await inspect(
        page,
        `history-390-${query === '' ? 'timeline' : query.includes('with') ? 'compared' : 'day'}`,
      );
    }
  });

  test('the timeline says by day who approved what was installed, and what came from outside; by keyboard', async () => {
    const { agent, id, hostname } = await hostWithPast();
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}/history`);
    const today = page.getByRole('region', { name: /\d{4}$/ }).first();
    const entry = (text: RegExp) => today.getByRole('listitem').filter({ hasText: text });
    await entry(/nginx.*1\.0\.0.*to 3\.0\.12-1.*approved by/s)
      .first()
      .waitFor();
    await entry(/outside Tidegate: no approved command brought it/)
      .first()
      .waitFor();
    await entry(/asked the host to install an update/)
      .first()
      .waitFor();
    await entry(/tags and groups/)
      .first()
      .waitFor();
    await inspect(page, 'history-timeline');

    await page.getByLabel('Kind').focus();
    await page.getByLabel('Kind').selectOption('packages outside Tidegate');
    await poll(() => today.getByText('approved by').count()).toBe(0);
    await page.getByRole('searchbox', { name: 'Package name' }).fill('no such package');
    await page.getByRole('heading', { name: 'Nothing in this period matches the filter' }).waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).press('Enter');
    const record = entry(/nginx/).getByRole('link', { name: 'Record of this installation' }).first();
    await record.focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/updates/${id}/record`);
    await page.getByRole('heading', { name: `Record: nginx on ${hostname}` }).waitFor();
    const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem');
    await poll(() => steps.count()).toBe(7);
    await page.getByText(`The host has ${OFFERED.apt}; it had 1.0.0 before.`).waitFor();
    await steps
      .filter({ hasText: /^Approved/ })
      .getByText('olga approved it')
      .waitFor();
    expect(await steps.getByText('no time on record').count()).toBeLessThanOrEqual(1);
    await inspect(page, 'history-record');
    await page.setViewportSize(PHONE);
    expect(await page.evaluate(SIDEWAYS)).toBe(0);
    await inspect(page, 'history-record-390', ['light']);

    // On paper: black on white, also in the dark theme, and without the menu.
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
    expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(false);
    expect(await page.evaluate('getComputedStyle(document.body).color')).toBe('rgb(0, 0, 0)');
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
  });

  test('an error can be retried, and a host without a report says so', async () => {
    const { agent } = await scene.hostWith([]);
    const page = await scene.openAs();
    await page.route('**/inventory/changes*', (route) => route.fulfill({ status: 500, body: '' }));
    await page.goto(`/hosts/${agent.agentId}/history`);
    const again = page.getByRole('alert').getByRole('button', { name: 'Try again' });
    await again.waitFor();
    await page.unroute('**/inventory/changes*');
    await again.click();
    await page.getByLabel('Kind').selectOption('packages outside Tidegate');
    await page.getByRole('heading', { name: 'Nothing in this period matches the filter' }).waitFor();
  });
});

/** Carries out the one installation that is delivered, as a host says. */
async function carryOut(agent: BareAgent): Promise<void> {
  const request = {
    ...{ agent_version: '0.1.0', boot_id: 'boot', uptime_seconds: 1, received: [], key_set_version: 1 },
    inventory_digest: {},
  };
  const { commands } = expectAnswer(await agent.call('POST', '/check-in', request), 200, CheckInAnswer);
  const install = commands
    .map((envelope) => Value.Parse(CommandPayload, fieldsOf(envelope)))
    .find(({ action }) => action === 'install_update');
  const path = `/commands/${install?.command_id}/result`;
  expect(await agent.call('POST', path, { status: 'success' })).toMatchObject({ status: 200 });
}
