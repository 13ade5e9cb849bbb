import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeUpdates, VIEWER } from '../harness/update-scene.ts';

const DAY_MS = 86_400_000;
/** As a person types it; the browser of the stories is in UTC. */
const local = (ms: number) => new Date(ms).toISOString().slice(0, 16);

describeUpdates('blackouts in the console', (scene) => {
  test('one is planned with the keyboard, withholds, and is ended with a reason', async () => {
    const page = await scene.openAs();
    await page.goto('/blackouts');
    await page.getByText('No blackouts').waitFor();
    await page.getByRole('button', { name: 'Plan a blackout' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Plan a blackout' });
    await dialog.getByLabel('Name').fill('Year end');
    await dialog.getByLabel('From').fill(local(Date.now() - DAY_MS));
    await dialog.getByLabel('Until').fill(local(Date.now() - 2 * DAY_MS));
    await dialog.getByLabel('Reason').fill('the shop earns its year');
    await dialog.getByRole('button', { name: 'Plan the blackout' }).focus();
    await page.keyboard.press('Enter');
    await dialog.getByText('must be after the start, and in the future').waitFor();
    await expect.poll(() => dialog.getByLabel('Until').getAttribute('aria-invalid')).toBe('true');
    await inspect(page, 'blackouts-add');
    await dialog.getByLabel('Until').fill(local(Date.now() + 30 * DAY_MS));
    await dialog.getByRole('button', { name: 'Plan the blackout' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Year end: changes are withheld from now on.').waitFor();
    const row = page.getByRole('row', { name: /Year end/ });
    await row.getByText('withholds', { exact: true }).waitFor();
    await inspect(page, 'blackouts');

    const { idOf } = await scene.hostWith(['curl']);
    await page.goto(`/updates/${idOf('curl')}`);
    await page.getByRole('status').filter({ hasText: 'The blackout Year end withholds it' }).waitFor();
    await page.getByRole('button', { name: /^Approve: installs/ }).click();
    await page.getByText('Waits for the end of the blackout Year end').waitFor();
    expect(await page.getByText('The blackout Year end withholds it').count()).toBe(0);
    await inspect(page, 'update-withheld');

    await page.goto('/blackouts');
    await page.getByRole('button', { name: 'End Year end' }).focus();
    await page.keyboard.press('Enter');
    const ending = page.getByRole('dialog', { name: 'End Year end' });
    await ending.getByLabel('Reason').fill('the season is over');
    await inspect(page, 'blackouts-end');
    await ending.getByRole('button', { name: 'End the blackout' }).click();
    await row.getByText('ended', { exact: true }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'End Year end' }).count()).toBe(0);
  });

  test('a viewer can look', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/blackouts');
    await page.getByRole('row', { name: /Year end/ }).waitFor();
    expect(await page.getByRole('button', { name: /plan|end year/i }).count()).toBe(0);
  });
});
