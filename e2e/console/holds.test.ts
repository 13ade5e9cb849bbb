import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeUpdates, VIEWER } from '../harness/update-scene.ts';

describeUpdates('holds in the console', (scene) => {
  test('a package is put on hold: its update stops and says until when, and passes once it is released', async () => {
    const { idOf, hostname, agent } = await scene.hostWith(['linux-image-amd64', 'curl']);
    const page = await scene.openAs();
    await page.goto('/holds');
    await page.getByText('Nothing is on hold').waitFor();
    await page.getByRole('button', { name: 'Put packages on hold' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Put packages on hold' });
    await dialog.getByLabel('Packages').fill('linux image');
    await dialog.getByLabel('Package manager').selectOption('apt');
    await dialog.getByLabel('Reason').fill('the driver does not build');
    await inspect(page, 'holds-add');
    await dialog.getByRole('button', { name: 'Put on hold' }).click();
    // A space is in no pattern: the refusal is shown, and what was written stays.
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Packages').fill('linux-image-*\nlinux-headers-*');
    await dialog.getByRole('button', { name: 'Put on hold' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('linux-image-*, linux-headers-* on hold: 1 update kept back.').waitFor();
    const row = page.getByRole('row', { name: /linux-image-\*/ });
    await row.getByText('on hold, ends').waitFor();
    await inspect(page, 'holds');

    await page.goto(`/updates/${idOf('linux-image-amd64')}`);
    await page.getByRole('heading', { name: 'Blocked: A package is on hold' }).waitFor();
    await page.getByText(/linux-image-amd64 is on hold until .*: the driver does not build/).waitFor();
    expect(await page.getByRole('button', { name: /override/i }).count()).toBe(0);
    await inspect(page, 'update-on-hold');
    await page.goto(`/updates/${idOf('curl')}`);
    await page.getByRole('button', { name: /^Approve: installs/ }).waitFor();

    // Every count of what is done says what is held, and until when.
    await page.goto(`/hosts/${agent.agentId}`);
    await page.getByRole('heading', { name: hostname }).waitFor();
    const held = page.getByRole('list', { name: 'Holds that keep updates back' });
    await held.getByText(/^linux-image-\*, linux-headers-\*/).waitFor();
    await page
      .getByText(/^0 % up to date, 1 update held until \d+ \w+ \d{4}\. It has 2 packages\.$/)
      .waitFor();
    await inspect(page, 'host-held');
    await page.goto('/');
    await page.getByText(/^\d+ % of the active hosts are up to date\./).waitFor();
    await inspect(page, 'overview-held');
    // Each number leads to what it counts.
    await page.getByRole('link', { name: /^1 update held until \d+ \w+ \d{4}$/ }).click();
    await page.getByRole('row', { name: /linux-image-amd64/ }).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await page.goBack();
    await page.getByRole('link', { name: /^\d+ %$/ }).click();
    await page.getByRole('heading', { name: 'Hosts', exact: true }).waitFor();
    expect(await page.getByLabel('Updates', { exact: true }).inputValue()).toBe('true');

    await page.goto('/hosts');
    await page.getByRole('row', { name: new RegExp(`${hostname}.* 1 until \\d+ \\w{3} \\d{4}`) }).waitFor();
    await inspect(page, 'hosts-held');
    await page.goto('/packages');
    await page.getByRole('row', { name: /linux-image-amd64 .* 1 until \d+ \w{3} \d{4}/ }).waitFor();
    await page.getByRole('row', { name: /\bcurl .* none/ }).waitFor();
    await inspect(page, 'packages-held');

    await page.goto('/holds');
    await page.getByRole('button', { name: 'Release linux-image-*, linux-headers-*' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
    await row.getByText('released').waitFor();
    await page.goto(`/updates/${idOf('linux-image-amd64')}`);
    await page.getByRole('button', { name: /^Approve: installs/ }).waitFor();
  });

  test('a viewer can look', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/holds');
    await page.getByRole('row', { name: /linux-image-\*/ }).waitFor();
    expect(await page.getByRole('button', { name: /put|release/i }).count()).toBe(0);
  });
});
