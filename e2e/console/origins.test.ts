import { InventoryAnswer } from '@tidegate/protocol/agent-api';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { addHost, OFFERED, untilJudged } from '../harness/offer-updates.ts';
import { expectAnswer } from '../harness/operator.ts';
import { describeUpdates, SECOND } from '../harness/update-scene.ts';

const KEY = '9dc858229fc7dd38854ae2d88d81803c0ebfcd88';

describeUpdates('third-party origins in the console', (scene) => {
  /** An update from a repository of somebody else, with the key that the host names. */
  async function foreignUpdate(name: string, origin: string): Promise<string> {
    const { operator, server } = scene.stage;
    const agent = await addHost({ url: server.url, operator }, `host-of-${name}`);
    const versions = { current_version: '1.0.0', available_version: OFFERED.apt };
    const action = {
      ...{ action: 'upgrade', name, arch: 'amd64', from_version: '1.0.0', to_version: OFFERED.apt },
      ...{ source_name: name, source_version: OFFERED.apt, origin, origin_key: KEY },
      artifact: {
        filename: `${name}.deb`,
        url: `https://mirror.example/${name}.deb`,
        ...{ size_bytes: 10_345, sha256: 'a'.repeat(64) },
      },
    };
    const resolved_at = new Date().toISOString();
    const answer = await agent.call('PUT', '/inventory/apt', {
      ...{ scanned_at: resolved_at, complete: true },
      packages: [{ name, version: '1.0.0', arch: 'amd64' }],
      updates: [{ name, arch: 'amd64', ...versions, plan: { resolved_at, actions: [action] } }],
    });
    const [update] = expectAnswer(answer, 200, InventoryAnswer).updates;
    const id = update?.update_id ?? '';
    await untilJudged(operator, id);
    return id;
  }

  test('a stopped update leads to the registration of its origin, after which it passes', async () => {
    const id = await foreignUpdate('docker-ce', 'Docker CE:26.0/bookworm');
    const page = await scene.openAs();
    await page.goto(`/updates/${id}`);
    await page.getByRole('heading', { name: /^Blocked: The packages could not be checked/ }).waitFor();
    await inspect(page, 'update-from-a-third-party');
    await page.getByRole('link', { name: 'Register Docker CE:bookworm' }).click();
    const dialog = page.getByRole('dialog', { name: 'Register an origin' });
    await expect.poll(() => dialog.getByLabel('Fingerprint of the signing key').inputValue()).toBe(KEY);
    await expect.poll(() => dialog.getByLabel('Suites').inputValue()).toBe('Docker CE:bookworm');
    await dialog.getByLabel('Rule').selectOption('allow_older_than');
    await expect.poll(() => dialog.getByLabel('Days').inputValue()).toBe('7');
    await dialog.getByLabel('Rule').selectOption('allow');
    await dialog.getByLabel('Reason').fill('the build hosts need it');
    await inspect(page, 'origins-add');
    await dialog.getByRole('button', { name: 'Register the origin' }).click();
    const row = page.getByRole('row', { name: /Docker CE:bookworm/ });
    await row.getByText('in force, ends').waitFor();
    await inspect(page, 'origins');

    await page.goto(`/updates/${id}`);
    await page.getByText(/is registered until .*\(rule: allow; reason: the build hosts need it\)/).waitFor();
    expect(await page.getByRole('link', { name: /^Register / }).count()).toBe(0);
    await page.getByRole('button', { name: /^Approve: installs/ }).waitFor();

    await page.goto('/origins');
    await page.getByRole('button', { name: 'Revoke the registration of Docker CE:bookworm' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke the registration' }).click();
    await row.getByText('revoked').waitFor();
    await page.goto(`/updates/${id}`);
    await page.getByRole('heading', { name: /^Blocked:/ }).waitFor();
  });

  test('the result of a bulk approval names the origin and leads to its registration', async () => {
    await foreignUpdate('nodejs', 'Node Source:nodistro');
    const page = await scene.openAs();
    await page.goto('/updates?name=nodejs');
    await page.getByRole('checkbox', { name: /^Select nodejs/ }).check();
    await page
      .getByRole('button', { name: /^Approve/ })
      .first()
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Approve 1 update' }).click();
    await dialog.getByText('The packages could not be checked').click();
    await dialog.getByText('From Node Source:nodistro.').waitFor();
    await inspect(page, 'bulk-third-party');
    await dialog.getByRole('link', { name: 'Register Node Source:nodistro' }).click();
    await page.getByRole('dialog', { name: 'Register an origin' }).waitFor();
  });

  test('a fingerprint is taken as gpg prints it, and a refusal is shown beside its field', async () => {
    const page = await scene.openAs();
    await page.goto('/origins');
    await page.getByRole('button', { name: 'Register an origin' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Suites').fill('PGDG:bookworm-pgdg');
    await dialog.getByLabel('Reason').fill('our databases');
    await dialog.getByLabel('Fingerprint of the signing key').fill('ACCC4CF8');
    await dialog.getByRole('button', { name: 'Register the origin' }).click();
    await dialog.getByRole('alert').waitFor();
    await expect
      .poll(() => dialog.getByLabel('Fingerprint of the signing key').getAttribute('aria-invalid'))
      .toBe('true');
    await dialog
      .getByLabel('Fingerprint of the signing key')
      .fill('B97B 0AFC AA1A 47F0 44F2  44A0 7FCC 7D46 ACCC 4CF8');
    await dialog.getByRole('button', { name: 'Register the origin' }).click();
    await page
      .getByRole('row', { name: /PGDG:bookworm-pgdg/ })
      .getByText('ask each time')
      .waitFor();
  });

  test('an approver can look, and reads that only an admin can register', async () => {
    const page = await scene.openAs(SECOND);
    await page.goto(`/origins?ecosystem=apt&key=${KEY}&suites=Docker%20CE%3Abookworm`);
    await page.getByText('Only an admin can register Docker CE:bookworm.').waitFor();
    expect(await page.getByRole('button', { name: /^(register|revoke)/i }).count()).toBe(0);
    expect(await page.getByRole('dialog').count()).toBe(0);
  });
});
