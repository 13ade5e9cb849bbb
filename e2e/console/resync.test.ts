import { join } from 'node:path';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import type { ConsoleStage } from '../harness/console-stage.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { logIn } from '../harness/operator.ts';
import { runCommands } from '../harness/runbook.ts';
import { TIDEGATE } from '../harness/server-process.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
const REASON = 'the disk of the database <b>failed</b>';

const folder = tmpDir('tidegate-resync-');
const env = { SERVICE_DATA_DIR: join(folder.path, 'data') };

async function tidegate(words: string): Promise<void> {
  const settings = { env: { PATH: SYSTEM_PATH, ...env }, cwd: '/' };
  const run = await runCommands(`${TIDEGATE} ${words}`, settings);
  if (run.code !== 0) throw new Error(`tidegate ${words}: ${run.stdout}\n${run.stderr}`);
}

/** Restores the database to a backup that lacks the latest change. */
async function restore({ operator, server }: ConsoleStage): Promise<void> {
  const backup = join(folder.path, 'story.backup');
  await tidegate(`backup --to "${backup}"`);
  await operator.registrationToken();
  await server.stop();
  await tidegate(`restore "${backup}"`);
  await server.restart();
}

const scenery = { hosts: 2, operators: [VIEWER], env, prepare: restore };

describeConsole('a resync, in the settings of the console', scenery, (scene) => {
  test('a restore is shown with what was lost, and only an admin may open a resync', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/settings');
    await page.getByText('detected', { exact: true }).waitFor();
    await page.getByText('closed', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: /resync/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'What was lost' }).click();
    await page.waitForURL(/\/events\?type=RESTORE_DETECTED$/);
    await expect.poll(() => page.locator('main tbody tr').count()).toBeGreaterThan(0);
  });

  test('a resync is opened by typing its name, with a reason and an end, and closed early', async () => {
    const page = await scene.openAs();
    await page.goto('/settings');
    await page.getByRole('button', { name: 'Open a resync' }).click();
    const dialog = page.getByRole('dialog', { name: 'Open a resync' });
    await dialog.getByText('At most 2 hosts may need it.').waitFor();
    const confirm = dialog.getByRole('button', { name: 'Open it' });
    await expect.poll(() => confirm.isDisabled()).toBe(true);
    await inspect(page, 'settings-resync');
    await dialog.getByLabel('Hours').fill('5');
    await dialog.getByLabel('Reason').fill(REASON);
    await dialog.getByLabel('Type resync to continue').fill('resync');
    await confirm.click();
    await page.getByText(/open, closes in [45] h; 0 hosts resynced\. Opened by olga:/).waitFor();
    await page.getByText(REASON).waitFor();
    expect(await page.getByRole('button', { name: 'Open a resync' }).count()).toBe(0);
    await inspect(page, 'settings-resync-open');
    await page.getByRole('button', { name: 'Close the resync' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Close it' }).click();
    await page.getByText('closed', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Open a resync' }).waitFor();
  });

  test('a resync that someone else has opened meanwhile is not opened twice, and the dialog says so', async () => {
    const page = await scene.openAs();
    await page.goto('/settings');
    await page.getByRole('button', { name: 'Open a resync' }).click();
    const path = '/api/v1/admin/resync';
    // Sessions from before the restore have ended.
    const other = await logIn(scene.stage.server.url);
    const opened = await other.call('POST', path, { hours: 1, reason: 'first' });
    expect(opened.status).toBe(201);
    const dialog = page.getByRole('dialog', { name: 'Open a resync' });
    await dialog.getByLabel('Reason').fill('second');
    await dialog.getByLabel('Type resync to continue').fill('resync');
    await dialog.getByRole('button', { name: 'Open it' }).click();
    await dialog.getByText('A resync is open already: close it first.').waitFor();
  });
});
