import { expect, test } from 'vitest';
import { accessibilityFaults } from '../harness/accessibility.ts';
import { watch } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

/** The other stories rely on these checks, so each must be able to fail. */
describeConsole('the checks of every story', { hosts: 0 }, (scene) => {
  test.each([
    [
      'an inline script',
      `document.body.append(Object.assign(document.createElement('script'), { textContent: '1' }))`,
    ],
    [
      'an inline style',
      `document.head.append(Object.assign(document.createElement('style'), { textContent: 'p{}' }))`,
    ],
    [
      'a style attribute in markup',
      `document.body.insertAdjacentHTML('beforeend', '<p style="color:red">x</p>')`,
    ],
    [
      'a script from elsewhere',
      `document.head.append(Object.assign(document.createElement('script'), { src: 'http://127.0.0.1:9/x.js' }))`,
    ],
    [
      'a picture from elsewhere',
      `document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/x.png' }))`,
    ],
    ['a call to elsewhere', `fetch('http://127.0.0.1:9/').catch(() => {})`],
    ['an uncaught error', `setTimeout(() => { throw new Error('thrown') })`],
  ])('%s is detected', async (_what, act) => {
    const page = await scene.openUnwatched();
    const faults = watch(page);
    await page.goto('/login');
    await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
    await page.evaluate(`void (${act})`);
    await expect.poll(() => faults.length).toBeGreaterThan(0);
  });

  test('a control without a name and text without contrast are detected', async () => {
    const page = await scene.openUnwatched();
    await page.goto('/login');
    await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.evaluate(`document.querySelector('main').append(document.createElement('button'))`);
    await page.evaluate(`document.querySelector('label').style.color = '#999'`);
    const faults = (await accessibilityFaults(page)).map((fault) => fault.split(':', 1)[0]);
    expect(faults.toSorted()).toEqual(['button-name', 'color-contrast']);
  });
});
