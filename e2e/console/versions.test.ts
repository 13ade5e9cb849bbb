import { InventoryAnswer } from '@tidegate/protocol/agent-api';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { addHost, untilJudged } from '../harness/offer-updates.ts';
import { expectAnswer } from '../harness/operator.ts';
import { describeUpdates } from '../harness/update-scene.ts';

const PLACE = '/srv/app';
const OFFERS = [
  { version: '1.9.2', offers: ['series'] },
  { version: '3.0.0', offers: ['newest'], candidates: ['1.4.9', '1.9.2', '3.0.0'] },
];

describeUpdates('versions of one package in the console', (scene) => {
  async function hostWithOffers() {
    const { operator, server } = scene.stage;
    const agent = await addHost({ url: server.url, operator }, 'versions');
    const answer = await agent.call('PUT', '/inventory/npm', {
      scanned_at: new Date().toISOString(),
      complete: true,
      packages: [{ name: 'demo', version: '1.4.0', arch: PLACE }],
      updates: OFFERS.map(({ version, ...offered }) => ({
        ...{ name: 'demo', current_version: '1.4.0', available_version: version, arch: PLACE, ...offered },
        plan: {
          resolved_at: new Date().toISOString(),
          actions: [
            {
              ...{ action: 'upgrade', name: 'demo', arch: PLACE, from_version: '1.4.0', to_version: version },
              artifact: {
                filename: `demo-${version}.tgz`,
                url: `https://mirror.example/demo-${version}.tgz`,
                ...{ size_bytes: 10_345, sha512: 'a'.repeat(128) },
              },
            },
          ],
        },
      })),
    });
    const { updates } = expectAnswer(answer, 200, InventoryAnswer);
    return (version: string) => updates.find((one) => one.available_version === version)?.update_id ?? '';
  }

  test('the page names the other offers and switches to them; the list has the recommended one', async () => {
    const idOf = await hostWithOffers();
    for (const { version } of OFFERS) await untilJudged(scene.stage.operator, idOf(version));
    const page = await scene.openAs();
    await page.goto('/updates?name=demo');
    const rows = page.locator('main tbody tr');
    await rows.getByText('newest').waitFor();
    await expect.poll(() => rows.count()).toBe(1);
    await inspect(page, 'updates-offered');
    await page.goto('/updates?name=demo&alternatives=true');
    await rows.getByText('series', { exact: true }).waitFor();
    await expect.poll(() => rows.count()).toBe(2);

    await page.goto(`/updates/${idOf('3.0.0')}`);
    await page.getByRole('heading', { name: 'Offered versions' }).waitFor();
    const others = page.getByRole('list', { name: 'Other versions' });
    await others.getByText('newest of its series').waitFor();
    await inspect(page, 'update-versions');
    await others.getByRole('link', { name: '1.9.2' }).click();
    await page.getByText('Another version is recommended.').waitFor();
    await page.getByRole('button', { name: /^Approve: installs/ }).click();
    await page.getByText(/^demo on versions is approved\.$/).waitFor();

    // Of one package only one version can be approved.
    await page.goto(`/updates/${idOf('3.0.0')}`);
    await page.getByRole('button', { name: /^Approve: installs/ }).click();
    await page
      .getByRole('alert')
      .getByText('Version 1.9.2 of this package is approved for this host.')
      .waitFor();
    expect(await scene.stateOf(idOf('3.0.0'))).toBe('pending');
  });
});
