import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { addHost, OFFERED, offerUpdates, untilJudged } from '../harness/offer-updates.ts';

const APPROVER = { username: 'otto', password: 'a long enough password', role: 'approver' } as const;

// No registry answers here, so the age of every version is unknown: a violation in `block`.
const BLOCKING = { SERVICE_SUPPLY_CHAIN_GATE_ENFORCEMENT: 'block' };

describeConsole(
  'age exceptions in the console',
  { hosts: 0, env: BLOCKING, operators: [APPROVER] },
  (scene) => {
    async function youngUpdate(name: string): Promise<string> {
      const agent = await addHost(
        { url: scene.stage.server.url, operator: scene.stage.operator },
        `host-of-${name}`,
      );
      const idOf = await offerUpdates(agent, { ecosystem: 'npm', names: [name] });
      await untilJudged(scene.stage.operator, idOf(name));
      return idOf(name);
    }

    test('an age block has no override; it links to an exception for exactly this version (A7)', async () => {
      const id = await youngUpdate('left');
      const page = await scene.openAs();
      await page.goto(`/updates/${id}`);
      await page.getByRole('heading', { name: /^Blocked: A version is too young/ }).waitFor();
      expect(await page.getByRole('button', { name: /override/i }).count()).toBe(0);
      await page.keyboard.press('o');
      expect(await page.getByLabel('Reason').count()).toBe(0);
      await inspect(page, 'update-too-young');
      await page.getByRole('link', { name: `Add an exception for left@${OFFERED.npm}` }).click();
      const dialog = page.getByRole('dialog', { name: 'Add an age exception' });
      await expect.poll(() => dialog.getByLabel('Package', { exact: true }).inputValue()).toBe('left');
      await expect.poll(() => dialog.getByLabel('Version').inputValue()).toBe(OFFERED.npm);
      await dialog.getByLabel('Reason').fill('it fixes what is exploited now');
      await dialog.getByRole('button', { name: 'Add the exception' }).click();
      await page.getByRole('row', { name: new RegExp(`left@${OFFERED.npm}`) }).waitFor();
      const [event] = await scene.stage.operator.events({ type: 'age_exception_added' });
      expect(event?.content).toMatchObject({ reason: 'it fixes what is exploited now' });
      await page.goto(`/updates/${id}`);
      await page.getByRole('button', { name: /^Approve: installs/ }).waitFor();
    });

    test('an exception is ended after a confirmation, and the update is blocked again', async () => {
      const id = await youngUpdate('right');
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      await scene.stage.operator.call('POST', '/api/v1/admin/age-exceptions', {
        ...{ ecosystem: 'npm', name: 'right', version: OFFERED.npm, reason: 'for a while', expires_at },
      });
      const page = await scene.openAs();
      await page.goto('/exceptions');
      await page.getByRole('button', { name: `End the exception for right@${OFFERED.npm}` }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'End the exception' }).click();
      await page.getByText(`The exception for right@${OFFERED.npm} has ended.`).waitFor();
      await expect.poll(() => page.getByRole('row', { name: /right@/ }).count()).toBe(0);
      await page.goto(`/updates/${id}`);
      await page.getByRole('heading', { name: /^Blocked:/ }).waitFor();
    });

    test('the page and its form are accessible in both themes', async () => {
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      await scene.stage.operator.call('POST', '/api/v1/admin/age-exceptions', {
        ...{ ecosystem: 'pypi', name: 'shown', version: '1.0', reason: 'for a while', expires_at },
      });
      const page = await scene.openAs();
      await page.goto('/exceptions');
      await page.getByRole('row', { name: /shown@1.0/ }).waitFor();
      await inspect(page, 'exceptions');
      await page.getByRole('button', { name: 'Add an exception' }).click();
      await page.getByRole('dialog').getByLabel('Reason').waitFor();
      await inspect(page, 'exceptions-add');
    });

    test('a refusal is shown beside its field', async () => {
      const page = await scene.openAs();
      await page.goto('/exceptions');
      await page.getByRole('button', { name: 'Add an exception' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Package', { exact: true }).fill('a');
      await dialog.getByLabel('Version').fill('1.0.0');
      await dialog.getByLabel('Reason').fill('  ');
      await dialog.getByRole('button', { name: 'Add the exception' }).click();
      await dialog.getByRole('alert').waitFor();
      await expect.poll(() => dialog.getByLabel('Reason').getAttribute('aria-invalid')).toBe('true');
    });

    test('an approver can look, and reads that only an admin can except', async () => {
      const page = await scene.openAs(APPROVER);
      await page.goto('/exceptions?ecosystem=npm&name=left&version=9.9.9');
      await page.getByText('Only an admin can except left@9.9.9.').waitFor();
      expect(await page.getByRole('button', { name: /^(add|end) /i }).count()).toBe(0);
      expect(await page.getByRole('dialog').count()).toBe(0);
    });
  },
);
