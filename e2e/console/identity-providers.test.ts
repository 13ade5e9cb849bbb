import { startIdentityProvider, type TestIdentityProvider } from '@tidegate/testkit/identity-provider';
import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { totpAt, wrongCodeAt } from '../harness/totp.ts';

const STEP_MS = 30_000;
const PHONE = { width: 390, height: 844 };

let provider: TestIdentityProvider | null = null;
afterAll(() => provider?.stop());

const opened = () => {
  if (!provider) throw new Error('the provider has not started');
  return provider;
};

describeConsole(
  'identity providers in the console',
  {
    hosts: 2,
    env: { SERVICE_PRIVATE_DESTINATIONS: '127.0.0.1' },
    async prepare({ server }) {
      provider = await startIdentityProvider({
        redirectUris: [`${server.url}/sign-in/house/callback`],
        postLogoutRedirectUris: [`${server.url}/login`],
        backchannelLogoutUri: `${server.url}/sign-in/house/logout`,
        asks: true,
      });
    },
  },
  (scene) => {
    async function signIn(page: Page): Promise<void> {
      await page.getByRole('button', { name: 'Continue with House' }).click();
      await page.getByRole('heading', { name: 'Example provider' }).waitFor();
      await page.getByRole('button', { name: /^Sign in as/ }).click();
    }

    /** The same on a phone: nothing scrolls sideways. */
    async function onPhone(page: Page, name: string): Promise<void> {
      const before = page.viewportSize();
      await page.setViewportSize(PHONE);
      await inspect(page, `${name}-phone`, ['light']);
      const wider = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect(await page.evaluate(wider), name).toBe(0);
      if (before) await page.setViewportSize(before);
    }

    test('an admin adds one, is told by the test that its secret is wrong, corrects it and turns it on', async () => {
      const page = await scene.openAs();
      await page.goto('/operators');
      await page.getByText('No identity providers').waitFor();
      await page.getByRole('button', { name: 'Add identity provider' }).click();
      const dialog = page.getByRole('dialog', { name: 'Add an identity provider' });
      await dialog.getByLabel('Id', { exact: true }).fill('house');
      await dialog.getByTitle(/sign-in\/house\/callback$/).waitFor();
      await dialog.getByLabel('Name', { exact: true }).fill('House');
      await dialog.getByLabel('Issuer').fill(opened().issuer);
      await dialog.getByLabel('Client id').fill(opened().clientId);
      await dialog.getByLabel('Client secret').fill('a wrong secret');
      await dialog.getByLabel('Groups and roles').fill('admins = root');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText('This is no rule: admins = root').waitFor();
      await inspect(page, 'identity-provider-add');
      await onPhone(page, 'identity-provider-add');
      await dialog.getByLabel('Groups and roles').fill('admins = admin\nweb team = approver: web');
      await dialog.getByLabel(/creates an operator/).check();
      await dialog.getByRole('button', { name: 'Save' }).click();
      const row = page.getByRole('row', { name: /House/ });
      await row.getByText('off', { exact: true }).waitFor();
      const choose = async (item: string) => {
        await row.getByRole('button', { name: 'Actions for House' }).click();
        await page.getByRole('menuitem', { name: item, exact: true }).click();
      };
      await choose('Test');
      const told = page.getByRole('dialog', { name: 'Test of House' });
      await told.getByText(/does not accept the client id with this secret/).waitFor();
      await inspect(page, 'identity-provider-test');
      await onPhone(page, 'identity-provider-test');
      await told.getByRole('button', { name: 'Done' }).click();
      await choose('Change');
      const change = page.getByRole('dialog', { name: 'Change House' });
      await change.getByLabel('New client secret').fill(opened().clientSecret);
      await change.getByRole('button', { name: 'Save' }).click();
      await change.waitFor({ state: 'detached' });
      await choose('Test');
      await told.getByText('The provider accepts the client id and the secret.').waitFor();
      await told.getByRole('button', { name: 'Done' }).click();
      await choose('Turn on');
      await row.getByText('on', { exact: true }).waitFor();
      await inspect(page, 'identity-providers');
      await onPhone(page, 'identity-providers');
    });

    test('the login page offers it beside the password, and it leads to the page that was asked for', async () => {
      opened().signInAs({ sub: 'ada-1', groups: ['admins'], preferred_username: 'ada' });
      const page = await scene.open();
      await page.goto('/hosts?q=web');
      await page.getByRole('button', { name: 'Continue with House' }).waitFor();
      await inspect(page, 'login-provider');
      await signIn(page);
      await page.getByRole('heading', { name: 'Hosts', exact: true }).waitFor();
      expect(new URL(page.url()).search).toBe('?q=web');

      // By keyboard, and out again at both.
      await page.getByRole('button', { name: /^ada/ }).click();
      await page.getByRole('menuitem', { name: 'Log out' }).press('Enter');
      await page.waitForURL(/\/session\/end/);
    });

    test('somebody without a group is told so, and gets back to the login', async () => {
      opened().signInAs({ sub: 'bob-1', groups: ['others'], preferred_username: 'bob' });
      const page = await scene.open();
      await page.goto('/login');
      await signIn(page);
      await page
        .getByRole('alert')
        .getByText(/none of your groups at the provider has a role here/)
        .waitFor();
      await inspect(page, 'login-provider-refused');
      await page.getByRole('link', { name: 'Back to the login' }).click();
      await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
    });

    test('an authenticator app is asked for after the provider, and the provider before what outlives a session', async () => {
      opened().signInAs({ sub: 'eve-1', groups: ['admins'], preferred_username: 'eve' });
      const page = await scene.open();
      await page.goto('/login?next=/account');
      await signIn(page);
      await page.getByRole('heading', { name: 'Your account' }).waitFor();
      await page.getByRole('button', { name: 'Add an app' }).click();
      const adding = page.getByRole('dialog', { name: 'Add an authenticator app' });
      const title = await adding.getByTitle('Copy the secret').getAttribute('title');
      const secret = title?.split(': ')[1] ?? '';
      await adding.getByLabel('Code from the app').fill(totpAt(secret, Date.now()));
      await adding.getByRole('button', { name: 'Turn it on' }).click();
      const codes = page.getByRole('dialog', { name: 'Recovery codes' });
      await codes.getByRole('button', { name: 'I have saved them' }).click();
      await page.getByRole('button', { name: 'Remove the app' }).waitFor();

      // Out of the session here only: the provider still knows the browser, and asks nothing.
      await page.getByRole('button', { name: /^eve/ }).click();
      await page.getByRole('menuitem', { name: 'Log out' }).click();
      await page.waitForURL(/\/session\/end/);
      await page.goto(`${scene.stage.server.url}/login?next=/account`);
      await page.getByRole('button', { name: 'Continue with House' }).click();
      await page.getByText('Your second factor is needed as well.').waitFor();
      await inspect(page, 'login-provider-factor');
      await onPhone(page, 'login-provider-factor');
      await page.goto('/hosts');
      await page.getByText('Your second factor is needed as well.').waitFor();
      const code = page.getByLabel('Code from your authenticator app');
      await code.fill(wrongCodeAt(secret, Date.now()));
      await page.keyboard.press('Enter');
      await page.getByText(/code is wrong/i).waitFor();
      await code.fill(totpAt(secret, Date.now() + STEP_MS));
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Hosts', exact: true }).waitFor();
      await page.goto('/account');

      // The sign-in at the provider is older than this session, which proves nobody's presence.
      const remove = async () => {
        await page.getByRole('button', { name: 'Remove the app' }).click();
        await page
          .getByRole('dialog', { name: 'Remove the authenticator app?' })
          .getByRole('button', { name: 'Remove' })
          .click();
      };
      const confirmed = page.getByRole('dialog', { name: 'Confirm that it is you' });
      await remove();
      await confirmed.getByText(/a new sign-in at your identity provider/).waitFor();
      await inspect(page, 'step-up-provider');
      await onPhone(page, 'step-up-provider');
      await confirmed.getByRole('button', { name: 'Sign in again' }).click();
      await page.getByRole('button', { name: 'Sign in as eve' }).click();
      await page.getByRole('heading', { name: 'Your account' }).waitFor();
      expect(new URL(page.url()).pathname).toBe('/account');
      await remove();
      await page.getByRole('button', { name: 'Add an app' }).waitFor();
    });

    test('an admin sees the accounts of an operator, and operators see their own', async () => {
      const page = await scene.openAs();
      await page.goto('/operators');
      const row = page.getByRole('row', { name: /^ada/ });
      await row.getByRole('button', { name: 'Actions for ada' }).click();
      await page.getByRole('menuitem', { name: 'Accounts of identity providers' }).click();
      const dialog = page.getByRole('dialog', { name: 'Accounts of ada' });
      await dialog.getByText('ada-1').waitFor();
      await inspect(page, 'operator-accounts');
      await page.goto('/account');
      await page.getByRole('button', { name: 'Bind your account of House' }).waitFor();
      await inspect(page, 'account-providers');
    });
  },
);
