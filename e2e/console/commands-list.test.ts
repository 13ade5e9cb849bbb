import { CommandItem } from '@tidegate/protocol/commands-api';
import type { Page } from 'playwright-core';
import { Type } from 'typebox';
import { expect, test } from 'vitest';
import type { ConsoleStage } from '../harness/console-stage.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { addHost } from '../harness/offer-updates.ts';
import { expectAnswer } from '../harness/operator.ts';

/** More than one page. */
const COMMANDS = 53;
const rows = (page: Page) => page.locator('main tbody tr');
const hrefs = (page: Page) =>
  rows(page).evaluateAll((all) => all.map((row) => row.querySelector('a')?.getAttribute('href')));

/** Requests that many scans from one host. */
async function askOften({ server, operator }: ConsoleStage): Promise<void> {
  const { agentId } = await addHost({ url: server.url, operator }, 'busy');
  for (let n = 0; n < COMMANDS; n++) await operator.call('POST', `/api/v1/agents/${agentId}/scan`, {});
}

describeConsole('the list of commands', { hosts: 0, prepare: askOften }, (scene) => {
  async function commandsByAge(): Promise<CommandItem[]> {
    const answer = await scene.stage.operator.call('GET', '/api/v1/commands?sort=created_at&limit=200');
    return expectAnswer(answer, 200, Type.Object({ items: Type.Array(CommandItem) })).items;
  }
  const pathsOf = (commands: readonly CommandItem[]) => commands.map(({ id }) => `/commands/${id}`);

  test('sorts both ways by its URL, and keeps the order across pages and reloads', async () => {
    const oldestFirst = pathsOf(await commandsByAge());
    expect(oldestFirst).toHaveLength(COMMANDS);
    const page = await scene.openAs();
    await page.goto('/commands');
    const header = page.getByRole('columnheader', { name: 'Requested', exact: true });
    await expect.poll(() => header.getAttribute('aria-sort')).toBe('descending');
    await expect.poll(() => hrefs(page)).toEqual(oldestFirst.toReversed().slice(0, 50));
    await header.getByRole('button').click();
    await expect.poll(() => new URL(page.url()).searchParams.get('sort')).toBe('created_at');
    await expect.poll(() => hrefs(page)).toEqual(oldestFirst.slice(0, 50));
    await expect.poll(() => header.getAttribute('aria-sort')).toBe('ascending');
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(() => hrefs(page)).toEqual(oldestFirst.slice(50));
    await page.reload();
    await expect.poll(() => hrefs(page)).toEqual(oldestFirst.slice(50));
    expect(new URL(page.url()).searchParams.get('sort')).toBe('created_at');
  });

  test('filters by time, with chips that are removed one by one', async () => {
    const oldestFirst = await commandsByAge();
    const [since, until] = [oldestFirst[10]?.created_at ?? '', oldestFirst[40]?.created_at ?? ''];
    expect(since < until).toBe(true);
    const within = oldestFirst.filter(({ created_at: at }) => at >= since && at < until);
    const page = await scene.openAs();
    await page.goto(`/commands?${new URLSearchParams({ since, until, sort: 'created_at' })}`);
    await expect.poll(() => hrefs(page)).toEqual(pathsOf(within));
    await page.getByText(`${within.length} commands`).waitFor();
    await page.getByText(`since: ${since}`).waitFor();
    await page.getByRole('button', { name: 'Remove the filter until' }).click();
    const after = oldestFirst.filter(({ created_at: at }) => at >= since);
    await expect.poll(() => hrefs(page)).toEqual(pathsOf(after));
    expect([...new URL(page.url()).searchParams.keys()]).toEqual(['since', 'sort']);
    await page.getByRole('button', { name: 'Remove the filter since' }).click();
    await expect.poll(() => rows(page).count()).toBe(50);
  });

  test('says that no command matches, and what is wrong with an invalid time', async () => {
    const page = await scene.openAs();
    await page.goto('/commands?until=2020-01-01T00:00:00Z');
    await page.getByRole('heading', { name: 'No commands match the filter' }).waitFor();
    await page.goto('/commands?since=yesterday');
    await page.getByRole('alert').getByText('The querystring is not valid.').waitFor();
    await page.getByRole('button', { name: 'Remove the filter since' }).click();
    await expect.poll(() => rows(page).count()).toBe(50);
  });
});
