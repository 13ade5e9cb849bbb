import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;

describeConsole('signing keys in the console', { hosts: 3, operators: [VIEWER] }, (scene) => {
  test('a rotation: add a key, see which hosts hold it, use it, and revoke the old one by typing', async () => {
    const page = await scene.openAs();
    await page.goto('/signing-keys');
    await page.getByText('all 3 hosts hold it').waitFor();
    await page.getByRole('button', { name: 'Add a key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('0 of 3 hosts hold it').waitFor();
    await page.getByRole('button', { name: 'Which hosts are behind?' }).click();
    await page.getByText('3 hosts are behind').waitFor();
    await inspect(page, 'signing-keys-behind');
    await page.getByRole('button', { name: 'Close' }).click();
    // The hosts receive it at their next check-in and confirm it at the one after.
    await scene.stage.fleet.checkInAll();
    await scene.stage.fleet.checkInAll();
    await page.getByRole('button', { name: 'Refresh the signing keys' }).click();
    await expect.poll(() => page.getByText('all 3 hosts hold it').count()).toBe(2);
    await inspect(page, 'signing-keys');
    await page.getByRole('button', { name: 'Sign with it: key 2' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign with it' }).click();
    await page.getByText('Key 2 signs from now on').waitFor();
    await page.getByRole('button', { name: 'Revoke key 1' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke key 1' });
    const confirm = dialog.getByRole('button', { name: 'Revoke permanently' });
    await expect.poll(() => confirm.isDisabled()).toBe(true);
    await dialog.getByLabel('Type revoke 1 to continue').fill('revoke 1');
    await confirm.click();
    await page.getByText('Key 1 is revoked').waitFor();
    const keys = await scene.stage.operator.keys();
    expect(keys.map(({ version, status, in_use }) => [version, status, in_use])).toEqual([
      [2, 'active', true],
      [1, 'revoked', false],
    ]);
  });

  test('an invalid public key is refused beside its field', async () => {
    const page = await scene.openAs();
    await page.goto('/signing-keys');
    await page.getByRole('button', { name: 'Add a key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Public key').fill('0'.repeat(64));
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByText('is not a usable Ed25519 public key').waitFor();
  });

  test('a viewer sees the keys and is offered no action', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/signing-keys');
    await page.getByText('signs', { exact: true }).waitFor();
    await page.getByText('none', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: /^(add a key|revoke|sign with)/i }).count()).toBe(0);
  });
});
