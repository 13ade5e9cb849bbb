import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import {
  describeNarrow,
  ENLARGED,
  type NarrowPage,
  overflowing,
  THEMES,
  testPages,
} from '../harness/narrow.ts';

const PAGES: readonly NarrowPage[] = [
  ['/policies', 'Policies'],
  ['/rollouts', 'Rollouts'],
  ['/reboots', 'Reboots'],
  ['/blackouts', 'Blackouts'],
  ['/holds', 'Holds'],
  ['/policies/:policy', 'Patch night'],
  ['/exceptions', 'Age exceptions'],
  ['/statements', 'Vulnerability statements'],
  ['/origins', 'Third-party origins'],
  ['/divergences', 'Divergences'],
  ['/enrolment', 'Add hosts'],
  ['/signing-keys', 'Signing keys'],
  ['/rate-limits', 'Rate limits'],
  ['/notifications', 'Notifications'],
  ['/notifications/rules', 'Notifications'],
  ['/notifications/deliveries', 'Notifications'],
  ['/operators', 'Operators'],
  ['/account', 'Your account'],
  ['/welcome', 'Welcome to Tidegate'],
  ['/settings', 'Settings'],
];

describeNarrow('administration in a narrow window', (scene) => {
  testPages(PAGES, scene);

  test('the login page fits', async () => {
    const page = await scene.open();
    await page.setViewportSize(ENLARGED);
    await page.goto('/login');
    await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
    expect(await overflowing(page)).toEqual([]);
    await inspect(page, 'narrow-login', THEMES);
  });
});
