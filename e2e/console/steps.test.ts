import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { fetchCommands } from '../harness/fetch-commands.ts';
import { describeUpdates } from '../harness/update-scene.ts';

const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
/** How far the window scrolls sideways. */
const SIDEWAYS = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
const MINUTE_MS = 60_000;
const steps = (page: Page) => page.getByRole('list', { name: 'Steps' }).getByRole('listitem');
const step = (page: Page, label: string) => steps(page).filter({ hasText: label });

describeUpdates('the steps of an installation in the console', (scene) => {
  /** A host that has fetched an approved installation of curl. */
  async function fetched(agentVersion: string) {
    const host = await scene.hostWith(['curl']);
    const { operator } = scene.stage;
    await operator.approved(host.idOf('curl'));
    const commands = await fetchCommands(host.agent, { agentVersion });
    const id = commands.find(({ action }) => action === 'install_update')?.command_id ?? '';
    await fetchCommands(host.agent, { agentVersion, received: [id] });
    // When a host was last seen is written every few seconds.
    await expect
      .poll(async () => JSON.stringify(await operator.call('GET', `/api/v1/commands/${id}/progress`)))
      .not.toContain('host_offline');
    const say = async (result: object) =>
      expect(await host.agent.call('POST', `/commands/${id}/result`, result)).toMatchObject({ status: 200 });
    return { ...host, id, say, pages: pagesOf(host.idOf('curl'), id, host.agent.agentId) };
  }

  test('a slow download is seen as such on the pages of the update, the command and the host', async () => {
    const { hostname, say, pages } = await fetched('0.2.0');
    const { ago, agoNow } = times();
    await say({ status: 'running', started_at: ago(14) });
    const page = await scene.openAs();
    const begun = (doing: string, minutes: number) =>
      expect
        .poll(() => page.getByText(`Waits for the host to ${doing} (begun ${agoNow(minutes)})`).count())
        .toBe(1);
    for (const [name, url] of pages) {
      await page.goto(url);
      await begun('download the packages', 14);
      await expect.poll(() => step(page, 'Downloading').getAttribute('aria-current')).toBe('step');
      await expect.poll(() => step(page, 'Installing').innerText()).toContain('not reached');
      for (const [width, size] of [
        ['1440', DESKTOP],
        ['390', PHONE],
      ] as const) {
        await page.setViewportSize(size);
        await inspect(page, `steps-download-${name}-${width}`);
        expect(await page.evaluate(SIDEWAYS)).toBe(0);
      }
      await page.setViewportSize(DESKTOP);
    }

    // The page follows by itself.
    await say({ status: 'running', installing_at: ago(2) });
    await begun('install the packages', 2);
    await expect.poll(() => step(page, 'Downloading').innerText()).toContain('took 12 min');
    await expect.poll(() => step(page, 'Installing').getAttribute('aria-current')).toBe('step');
    await inspect(page, 'steps-installing');

    await say({ status: 'success', exit_code: 0, finished_at: ago(0) });
    await page.goto(pages[1][1]);
    await page.getByRole('heading', { name: `install an update on ${hostname}` }).waitFor();
    await expect.poll(() => steps(page).count()).toBe(6);
    await expect.poll(() => step(page, 'Installing').innerText()).toContain('took 2 min');
    await expect.poll(() => step(page, 'Downloading').innerText()).toContain('took 12 min');
    await inspect(page, 'steps-installed');
  });

  test('a host whose agent does not tell which it is at has one step for both', async () => {
    const { say, pages } = await fetched('0.1.0');
    const { ago } = times();
    await say({ status: 'running', started_at: ago(14) });
    const page = await scene.openAs();
    for (const [name, url] of pages) {
      await page.goto(url);
      await page.getByText(/^Waits for the host to download and install the packages/).waitFor();
      await expect
        .poll(() => step(page, 'Downloading and installing').getAttribute('aria-current'))
        .toBe('step');
      await expect.poll(() => steps(page).count()).toBe(5);
      // The host has the command: it does not expire any more.
      expect(await page.getByText('it expires').count()).toBe(0);
      await page.setViewportSize(PHONE);
      expect(await page.evaluate(SIDEWAYS)).toBe(0);
      await inspect(page, `steps-one-${name}-390`, ['light']);
      await page.setViewportSize(DESKTOP);
    }
    const [[, update]] = pages;
    await page.goto(update);
    // Its result says when the package manager was started.
    await say({ status: 'success', exit_code: 0, started_at: ago(3), finished_at: ago(0) });
    for (const [, url] of pages) {
      await page.goto(url);
      await expect.poll(() => step(page, 'Downloading').innerText()).toContain('took 11 min');
      await expect.poll(() => step(page, 'Installing').innerText()).toContain('took 3 min');
      await expect.poll(() => steps(page).count()).toBe(6);
    }
    await page.goto(`${update}/record`);
    await page.getByText('The host had all files after 11 min and began to install them.').waitFor();
  });
});

/** Times before this moment, and how the pages name them by now. */
function times() {
  const nowMs = Date.now();
  return {
    ago: (minutes: number) => new Date(nowMs - minutes * MINUTE_MS).toISOString(),
    agoNow: (minutes: number) => `${minutes + Math.floor((Date.now() - nowMs) / MINUTE_MS)} min ago`,
  };
}

function pagesOf(updateId: string, commandId: string, agentId: string) {
  return [
    ['update', `/updates/${updateId}`],
    ['command', `/commands/${commandId}`],
    ['host', `/hosts/${agentId}`],
  ] as const;
}
