import type { Page } from 'playwright-core';
import { beforeEach, expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { totpAt, wrongCodeAt } from '../harness/totp.ts';

const STEP_MS = 30_000;

describeConsole('second factors in the console', { hosts: 2 }, (scene) => {
  let operator: { username: string; password: string; role: 'admin' };
  let count = 0;
  beforeEach(async () => {
    operator = { username: `anna${++count}`, password: 'correct horse battery', role: 'admin' };
    await scene.stage.addOperator(operator);
  });

  const logIn = async (page: Page) => {
    await page.goto('/login?next=/account');
    await page.getByLabel('Username').fill(operator.username);
    await page.getByLabel('Password').fill(operator.password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
  };
  const logOut = async (page: Page) => {
    await page.getByRole('button', { name: operator.username }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
  };

  /** An unused code: each time step has its own. */
  const codeAfter = (secret: string, steps: number) => totpAt(secret, Date.now() + steps * STEP_MS);

  test('what cannot be read about the own access is never shown as nothing', async () => {
    const page = await scene.openAs(operator);
    await page.route(/\/auth\/(notices|passkeys)/, (route) => route.fulfill({ status: 500 }));
    await page.goto('/account');
    const changes = page.locator('section').filter({ hasText: 'Changes to your access' });
    await changes.getByRole('alert').waitFor();
    expect(await changes.getByText('Nothing has changed yet').count()).toBe(0);
    expect(await page.getByText('0 registered').count()).toBe(0);
  });

  test('an authenticator app is confirmed by a code and asked for at login; each recovery code replaces it once', async () => {
    const page = await scene.openAs(operator);
    await page.goto('/account');
    await page.getByRole('heading', { name: 'Your account' }).waitFor();
    await inspect(page, 'account');
    await page.getByRole('button', { name: 'Add an app' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add an authenticator app' });
    await dialog.getByRole('img', { name: 'QR code for an authenticator app' }).waitFor();
    await inspect(page, 'account-totp');
    const title = await dialog.getByTitle('Copy the secret').getAttribute('title');
    const secret = title?.split(': ')[1] ?? '';
    await dialog.getByLabel('Code from the app').fill(wrongCodeAt(secret, Date.now()));
    await dialog.getByRole('button', { name: 'Turn it on' }).click();
    await dialog.getByText('The code does not match the secret.').waitFor();
    await dialog.getByLabel('Code from the app').fill(codeAfter(secret, 0));
    await dialog.getByRole('button', { name: 'Turn it on' }).click();
    const codes = page.getByRole('dialog', { name: 'Recovery codes' });
    await codes.waitFor();
    const [recovery = ''] = await codes.getByRole('listitem').allInnerTexts();
    await expect.poll(() => codes.getByRole('listitem').count()).toBe(10);
    await codes.getByRole('button', { name: 'I have saved them' }).click();
    await page.getByRole('button', { name: 'Remove the app' }).waitFor();

    await logOut(page);
    await logIn(page);
    await page.getByRole('heading', { name: 'Second factor' }).waitFor();
    await inspect(page, 'login-second-factor');
    await page.getByLabel('Code from your authenticator app').fill(codeAfter(secret, 1));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your account' }).waitFor();

    for (const outcome of ['opened', 'refused'] as const) {
      await page.context().clearCookies();
      await logIn(page);
      await page.getByRole('button', { name: 'Recovery code' }).click();
      await page.getByLabel('Recovery code').fill(recovery);
      await page.keyboard.press('Enter');
      if (outcome === 'opened') await page.getByRole('heading', { name: 'Your account' }).waitFor();
      else await page.getByRole('alert').waitFor();
    }
  });

  test('a passkey is created by the authenticator, logs in alone, and is asked for before sensitive acts', async () => {
    const page = await scene.browser.openAs(localhost(scene.stage.server.url), operator);
    const session = await page.context().newCDPSession(page);
    await session.send('WebAuthn.enable');
    await session.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    await page.goto('/account');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByLabel('Name').fill('this laptop');
    await page.getByRole('button', { name: 'Continue' }).click();
    const codes = page.getByRole('dialog', { name: 'Recovery codes' });
    await codes.getByRole('button', { name: 'I have saved them' }).click();
    await page.getByText('Passkey this laptop', { exact: true }).waitFor();

    await logOut(page);
    await page.getByRole('button', { name: 'Log in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    // A passkey login proves no password, which is needed for acts that outlive the session.
    await page.goto('/account');
    await page.getByText('The passkey this laptop was added').waitFor();
    await inspect(page, 'account-changes');
    await page.getByRole('button', { name: 'Mark all as seen' }).click();
    await page.getByRole('button', { name: 'Mark all as seen' }).waitFor({ state: 'detached' });
    await page.route('**/step-up-prompt-*.js', (route) => route.abort());
    await page.getByRole('button', { name: 'Add an app' }).click();
    await page.getByText('the dialog to confirm that it is you did not load. Try again.').waitFor();
    await page.unroute('**/step-up-prompt-*.js');
    await page.getByRole('button', { name: 'Add an app' }).click();
    const asked = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await asked.getByLabel('Your password').fill('not the password');
    await asked.getByRole('button', { name: 'Confirm' }).click();
    await asked.getByText('The password is wrong.').waitFor();
    await inspect(page, 'account-password-asked');
    await asked.getByLabel('Your password').fill(operator.password);
    await asked.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('dialog', { name: 'Add an authenticator app' }).waitFor();
    await page.keyboard.press('Escape');
    await logOut(page);

    await logIn(page);
    await page.getByRole('heading', { name: 'Second factor' }).waitFor();
    await page.getByRole('button', { name: 'Use the passkey' }).click();
    await page.getByRole('heading', { name: 'Your account' }).waitFor();
  });

  test('a sensitive act asks for a fresh second factor, and continues once it is confirmed', async () => {
    const page = await scene.openAs(operator);
    await page.goto('/account');
    await page.getByRole('button', { name: 'Add an app' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add an authenticator app' });
    const title = await dialog.getByTitle('Copy the secret').getAttribute('title');
    const secret = title?.split(': ')[1] ?? '';
    await dialog.getByLabel('Code from the app').fill(codeAfter(secret, 0));
    await dialog.getByRole('button', { name: 'Turn it on' }).click();
    await page.getByRole('button', { name: 'I have saved them' }).click();
    // Another session, opened by the password and the app's next code.
    await logOut(page);
    await page.goto('/login?next=/operators');
    await page.getByLabel('Username').fill(operator.username);
    await page.getByLabel('Password').fill(operator.password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByLabel('Code from your authenticator app').fill(codeAfter(secret, 1));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Operators', exact: true }).waitFor();
  });

  test('one session can end another', async () => {
    const page = await scene.openAs(operator);
    const other = await scene.openAs(operator);
    await other.goto('/account');
    await page.goto('/account');
    await page.getByRole('button', { name: /^End the session of/ }).click();
    await page.getByText('The session has ended.').waitFor();
    await other.goto('/hosts');
    await other.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
  });

  test('a new password needs the old one', async () => {
    const page = await scene.openAs(operator);
    await page.goto('/account');
    await page.getByLabel('Current password').fill('not the password');
    await page.getByLabel('New password', { exact: true }).fill('another horse battery');
    await page.getByLabel('New password again').fill('another horse battery');
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByText(/wrong/).waitFor();
    await page.getByLabel('Current password').fill(operator.password);
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByText('Your password is changed').waitFor();
    operator.password = 'another horse battery';
    await logOut(page);
    await logIn(page);
    await page.getByRole('heading', { name: 'Your account' }).waitFor();
  });
});

/** Passkeys need https or localhost; they do not work at an IP address. */
function localhost(url: string): string {
  return url.replace('127.0.0.1', 'localhost');
}
