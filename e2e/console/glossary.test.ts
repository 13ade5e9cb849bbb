import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

/** Pages with the word that is explained at its first mention. */
const PAGES: readonly (readonly [path: string, word: string, title: string])[] = [
  ['/vulnerabilities', 'exploited', 'Known to be exploited (KEV)'],
  ['/updates', 'bring or keep', 'Brings or keeps'],
  ['/updates/by-host', 'exploited', 'Known to be exploited (KEV)'],
  ['/policies', 'gate', 'The gate'],
  ['/rollouts', 'rings', 'Ring'],
  ['/holds', 'stay as they are', 'Hold'],
  ['/blackouts', 'Times in which hosts are not changed', 'Blackout'],
  ['/reboots', 'a few at a time', 'Slot'],
  ['/divergences', 'override', 'Override'],
  ['/statements', 'stated about vulnerabilities', 'Statement (VEX)'],
  ['/enrolment', 'registration token', 'Registration token'],
  ['/signing-keys', 'Signing keys', 'Signing key'],
];

describeConsole('the glossary of the console', { hosts: 1 }, (scene) => {
  test('explains a word by the keyboard: Enter shows it, Escape leads back', async () => {
    const page = await scene.openAs();
    await page.goto('/policies');
    const word = page.getByRole('button', { name: 'gate', exact: true });
    await word.focus();
    await page.keyboard.press('Enter');
    const meaning = page.getByRole('dialog', { name: 'The gate' });
    await meaning.getByText('The checks before an approval').waitFor();
    await inspect(page, 'glossary');
    await page.keyboard.press('Escape');
    await meaning.waitFor({ state: 'detached' });
    expect(await word.evaluate((element) => element.ownerDocument.activeElement === element)).toBe(true);
  });

  test('explains a word of a dialog in front of it, and Escape leads back to the dialog', async () => {
    const page = await scene.openAs();
    await page.goto('/policies');
    await page.getByRole('button', { name: 'Publish a policy' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Publish a policy' });
    await dialog.getByRole('button', { name: 'gate', exact: true }).click();
    const meaning = page.getByRole('dialog', { name: 'The gate', exact: true });
    await meaning.getByText('The checks before an approval').click();
    await inspect(page, 'glossary-dialog');
    await page.keyboard.press('Escape');
    await meaning.waitFor({ state: 'detached' });
    expect(await dialog.isVisible()).toBe(true);
  });

  test.each(PAGES)('on %s: %s', async (path, word, title) => {
    const page = await scene.openAs();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(path);
    await page.locator('main').getByRole('button', { name: word, exact: true }).click();
    const meaning = page.getByRole('dialog', { name: title, exact: true });
    await meaning.waitFor();
    const box = await meaning.boundingBox();
    expect(box?.x ?? -1).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 391)).toBeLessThanOrEqual(390);
    if (path === '/updates') await inspect(page, 'glossary-390');
  });
});
