import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { OFFERED } from '../harness/offer-updates.ts';
import { describeUpdates } from '../harness/update-scene.ts';

const PYTHON = ['libpython3.11', 'python3.11', 'python3.11-minimal'];

describeUpdates('updates of one transaction in the console', (scene) => {
  /** A host whose three updates of Python resolve to one transaction, beside one of another. */
  async function hostWithSiblings() {
    const host = await scene.hostWith([...PYTHON, 'vim'], PYTHON);
    const actions = PYTHON.map((name) => ({
      ...{ action: 'upgrade', name, arch: 'amd64', from_version: '1.0.0', to_version: OFFERED.apt },
      ...{ source_name: 'python3.11', source_version: OFFERED.apt, origin: 'Debian:12/stable' },
      artifact: {
        filename: `${name}.deb`,
        url: `https://mirror.example/${name}.deb`,
        ...{ size_bytes: 10_345, sha256: 'a'.repeat(64) },
      },
    }));
    const report = {
      sets: PYTHON.map((name) => [host.idOf(name)]),
      plan: { resolved_at: new Date().toISOString(), actions },
    };
    expect(await host.agent.call('PUT', '/plans', report)).toMatchObject({ status: 200 });
    return host;
  }

  test('the list marks them, the page names them, and one approval is one transaction', async () => {
    const { hostname, idOf } = await hostWithSiblings();
    const page = await scene.openAs();
    await page.goto(`/updates?host=${hostname}&sort=name`);
    const rows = page.locator('main tbody tr');
    await rows.getByText('+2').first().waitFor();
    await expect.poll(() => rows.getByText('in the same transaction').count()).toBe(3);
    await inspect(page, 'updates-siblings');

    await page.goto(`/updates/${idOf('python3.11')}`);
    await page.getByText('One transaction brings this update and 2 others').waitFor();
    const panel = page.getByLabel('Updates of the same transaction');
    await expect
      .poll(() => panel.getByRole('link').allTextContents())
      .toEqual(['libpython3.11', 'python3.11-minimal']);
    await inspect(page, 'update-siblings');
    await page.getByRole('button', { name: 'Approve all 3 together' }).click();
    await page.getByText('3 updates on 1 host: 1 transaction').waitFor();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Approve/ })
      .click();
    await page.getByRole('heading', { name: 'Result' }).waitFor();
    for (const name of PYTHON) expect(await scene.stateOf(idOf(name))).toBe('approved');
    expect(await scene.stateOf(idOf('vim'))).toBe('pending');
    await inspect(page, 'update-siblings-approved');
  });
});
