import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { createFleet } from '@tidegate/testkit/fleet';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { inspect, startBrowser } from '../harness/browser.ts';
import { browserMissing } from '../harness/chromium.ts';
import { startServer } from '../harness/server-process.ts';

const missing = browserMissing();

describe.skipIf(missing !== null)(`the first minutes${missing ? ` (${missing})` : ''}`, () => {
  test('the one-time link leads through the first operator and the address to the first host', async () => {
    const stack = new AsyncDisposableStack();
    onTestFinished(() => stack.disposeAsync());
    const folder = stack.use(tmpDir('tidegate-welcome-'));
    const osv = await startFakeOsv();
    stack.defer(osv.stop);
    const nobody = { SERVICE_ADMIN_USERNAME: '', SERVICE_ADMIN_PASSWORD: '' };
    const server = await startServer({ dataDir: folder.path, advisoryUrl: osv.url, env: nobody });
    stack.defer(async () => void (await server.stop()));
    const link = /\/setup\/\S+/.exec(await server.line(/\/setup\//))?.[0] ?? '';
    const browser = stack.use(await startBrowser());

    const page = await browser.open(server.url);
    await page.goto(link);
    await inspect(page, 'setup');
    await page.getByLabel('Username').fill('mara');
    await page.getByLabel('Password (15 characters or more)').fill('correct horse battery');
    await page.getByLabel('Password again').fill('correct horse battery');
    await page.getByRole('button', { name: 'Create operator' }).click();
    await page.getByRole('heading', { name: 'Welcome to Tidegate' }).waitFor();
    await inspect(page, 'welcome');

    // Before any host: no number, and to the letter until somebody decides.
    await page.getByText('There are no open updates yet').waitFor();
    await expect
      .poll(() => page.getByRole('radio', { name: /Every known vulnerability/ }).isChecked())
      .toBe(true);
    await page.getByRole('radio', { name: /Only vulnerabilities that the update introduces/ }).check();
    await page.getByRole('button', { name: 'Decide' }).click();
    await page.getByText('Chosen by mara').waitFor();
    await inspect(page, 'welcome-decided');

    await page.getByRole('button', { name: /token/i }).click();
    const line = await page.getByTitle(/TIDEGATE_TOKEN=/).getAttribute('title');
    const token = /TIDEGATE_TOKEN=(tgr_[\w-]+)/.exec(line ?? '')?.[1] ?? '';
    await page.getByText('Waiting for the host').waitFor();
    await inspect(page, 'welcome-token');
    const fleet = createFleet({
      serverUrl: server.url,
      agents: 1,
      registrationToken: token,
      clock: { now: Date.now },
      inventory: { packages: 40, updates: 3 },
      prefix: 'cellar',
    });
    stack.defer(async () => fleet.stop());
    for (const round of [fleet.enrolAll, fleet.checkInAll, fleet.reportAll]) await round();
    await page.getByText('The first host is here').waitFor();
    await page.getByRole('link', { name: 'see its updates' }).click();
    await page.getByRole('heading', { name: 'Updates', exact: true }).waitFor();
    await expect.poll(() => page.getByRole('row').count()).toBeGreaterThan(3);
  });
});
