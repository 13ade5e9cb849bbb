import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { OFFERED } from '../harness/offer-updates.ts';
import { describeUpdates, FINDING, SECOND } from '../harness/update-scene.ts';

describeUpdates('statements about vulnerabilities in the console', (scene) => {
  test('a finding leads to a statement about exactly it, and the update passes with it named', async () => {
    const { idOf } = await scene.hostWith(['bad']);
    const page = await scene.openAs();
    await page.goto(`/updates/${idOf('bad')}`);
    await page.getByRole('link', { name: 'Not affected? Add a statement' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'State what a vulnerability means' });
    await expect.poll(() => dialog.getByLabel('Vulnerability').inputValue()).toBe(FINDING);
    await expect.poll(() => dialog.getByLabel('Package', { exact: true }).inputValue()).toBe('bad');
    await expect.poll(() => dialog.getByLabel('Versions').inputValue()).toBe(OFFERED.apt);
    await expect.poll(() => dialog.getByLabel('Distribution').inputValue()).toBe('debian');
    await inspect(page, 'statements-add');
    await dialog.getByLabel('Hosts').selectOption('host:');
    await dialog.getByLabel('Because').selectOption('vulnerable_code_not_in_execute_path');
    await dialog.getByLabel('Explanation').fill('the parser is compiled out');
    await dialog.getByRole('button', { name: 'Sign the statement' }).click();
    const row = page.getByRole('row', { name: new RegExp(FINDING) });
    await row.getByText('the vulnerable code never runs').waitFor();
    await row.getByText('in force, ends').waitFor();
    await row.getByRole('link', { name: 'one host' }).waitFor();
    await inspect(page, 'statements');

    await page.goto(`/updates/${idOf('bad')}`);
    await page.getByText("An operator's statement says: not affected.").waitFor();
    await inspect(page, 'update-with-statement');
    await page.getByRole('button', { name: /^Approve: installs/ }).click();
    await page.getByText(/^bad on .* is approved\./).waitFor();

    await page.getByText(`An operator's statement counted: ${FINDING} in bad, not affected.`).waitFor();
    await inspect(page, 'update-approved-by-statement');

    await page.goto('/statements');
    await page.getByRole('button', { name: `Revoke the statement about ${FINDING} in bad` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke the statement' }).click();
    await row.getByText('revoked').waitFor();
    expect(await page.getByRole('button', { name: /^Revoke the statement/ }).count()).toBe(0);
  });

  test('a refusal is shown beside its field', async () => {
    const page = await scene.openAs();
    await page.goto('/statements?vulnerability=CVE-2026-9&package=curl&ecosystem=apt&version=1.0-1');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Distribution').fill('not one word');
    await dialog.getByLabel('Explanation').fill('looked at it');
    await dialog.getByRole('button', { name: 'Sign the statement' }).click();
    await dialog.getByRole('alert').waitFor();
    await expect.poll(() => dialog.getByLabel('Distribution').getAttribute('aria-invalid')).toBe('true');
  });

  test('an OpenVEX document is imported, once, with what became of each statement', async () => {
    const dir = tmpDir('tidegate-vex-');
    onTestFinished(() => dir.remove());
    const statement = (name: string, status: string) => ({
      vulnerability: { name },
      products: [{ '@id': 'pkg:npm/left-pad@1.3.0' }],
      status,
      ...(status === 'not_affected' && {
        justification: 'vulnerable_code_not_present',
        impact_statement: 'not built in',
      }),
    });
    const file = join(dir.path, 'vex.json');
    const document = {
      ...{ '@context': 'https://openvex.dev/ns/v0.2.0', '@id': 'https://vex.example/1', author: 'Vendor' },
      ...{ timestamp: '2026-11-01T00:00:00Z', version: 1 },
      statements: [statement('CVE-2026-7', 'not_affected'), statement('CVE-2026-8', 'under_investigation')],
    };
    await writeFile(file, JSON.stringify(document));
    const page = await scene.openAs();
    await page.goto('/statements');
    const dialog = page.getByRole('dialog', { name: 'Import statements' });
    for (const expected of [
      '1 imported, 0 in force already, 1 left out',
      '0 imported, 1 in force already, 1 left out',
    ]) {
      await page.getByRole('button', { name: 'Import' }).click();
      await dialog.getByLabel('File').setInputFiles(file);
      await dialog.getByRole('button', { name: 'Sign and import' }).click();
      await dialog.getByText(expected).waitFor();
      await inspect(page, 'statements-imported');
      await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
    }
    await page.getByRole('row', { name: /CVE-2026-7.*from Vendor/ }).waitFor();

    await writeFile(file, JSON.stringify({ ...document, statements: [{ status: 'not_affected' }] }));
    await page.getByRole('button', { name: 'Import' }).click();
    await dialog.getByLabel('File').setInputFiles(file);
    await dialog.getByRole('button', { name: 'Sign and import' }).click();
    await dialog.getByRole('alert').getByText('/statements/0').waitFor();
    await inspect(page, 'statements-refused');
  });

  test('an approver can look, and reads that only an admin can state', async () => {
    const page = await scene.openAs(SECOND);
    await page.goto('/statements?vulnerability=CVE-2026-1&package=curl');
    await page.getByText('Only an admin can state what CVE-2026-1 means for curl.').waitFor();
    expect(await page.getByRole('button', { name: /^(add|import|revoke)/i }).count()).toBe(0);
    expect(await page.getByRole('dialog').count()).toBe(0);
  });
});
