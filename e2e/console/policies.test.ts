import { Operator } from '@tidegate/protocol/operators-api';
import { PolicyDetail } from '@tidegate/protocol/policies-api';
import type { Locator, Page } from 'playwright-core';
import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { STANDING, STANDING_TERMS } from '../../apps/server/src/testing/standing.ts';
import { inspect } from '../harness/browser.ts';
import { OFFERED } from '../harness/offer-updates.ts';
import { expectAnswer } from '../harness/operator.ts';
import { OFTEN } from '../harness/server-process.ts';
import { describeUpdates, SECOND, VIEWER } from '../harness/update-scene.ts';

const DAY_MS = 86_400_000;
/** More steps than any form has controls. */
const TABS_MAX = 90;
const PHONE = { width: 360, height: 740 };
const WIDE = { width: 1440, height: 900 };
/** Policies run every second. */
const isFocused = async (one: Locator) => (await one.and(one.page().locator(':focus')).count()) === 1;

/** Walks to a control with the Tab key, as somebody without a pointer does. */
async function tabTo(page: Page, control: Locator): Promise<void> {
  await control.waitFor();
  for (let i = 0; i < TABS_MAX; i++) {
    if (await isFocused(control)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`${control} is not reached by keyboard`);
}

async function pressOn(page: Page, control: Locator, ...keys: readonly string[]): Promise<void> {
  await tabTo(page, control);
  for (const key of keys) await page.keyboard.press(key);
}

async function typeInto(page: Page, field: Locator, text: string): Promise<void> {
  await pressOn(page, field, 'Control+a', 'Delete');
  await page.keyboard.type(text);
}

describeUpdates(
  'policies in the console',
  (scene) => {
    async function publish(change: object): Promise<PolicyDetail> {
      const ends_at = new Date(Date.now() + 30 * DAY_MS).toISOString();
      const answer = await scene.stage.operator.call('POST', '/api/v1/policies', {
        ...STANDING,
        ends_at,
        ...change,
      });
      return expectAnswer(answer, 201, PolicyDetail);
    }

    async function detailOf(id: string): Promise<PolicyDetail> {
      return expectAnswer(
        await scene.stage.operator.call('GET', `/api/v1/policies/${id}`),
        200,
        PolicyDetail,
      );
    }

    test('a policy is published, changed and revoked by keyboard alone, after a look at what it would do', async () => {
      const { hostname } = await scene.hostWith(['curl', 'bad', 'later'], ['later']);
      const page = await scene.openAs(SECOND);
      const button = (name: string) => page.getByRole('button', { name, exact: true });
      await page.goto('/policies');
      await page.getByRole('heading', { name: 'No policies' }).waitFor();
      await inspect(page, 'policies-empty');
      await pressOn(page, button('Publish a policy'), 'Enter');

      const form = page.getByRole('dialog', { name: 'Publish a policy' });
      await typeInto(page, form.getByLabel('Name'), 'Patch night');
      await typeInto(page, form.getByLabel('What it is for'), 'Agreed on 2 November.');
      await pressOn(page, form.getByLabel('Hosts', { exact: true }), 'ArrowDown');
      await typeInto(page, form.getByLabel('Find a host'), hostname);
      await pressOn(page, button(`Add ${hostname}`), 'Enter');
      await form.getByRole('button', { name: `Remove ${hostname}` }).waitFor();
      await pressOn(page, form.getByLabel('Only security updates'), 'Space');
      await pressOn(page, form.getByLabel('Minimum age in hours'), 'Control+a', 'Delete');
      await pressOn(page, button('Add a window'), 'Enter');
      await pressOn(page, form.getByLabel('Opens'), 'ArrowDown', 'ArrowDown');
      await pressOn(page, form.getByLabel('Which of the month'), 'ArrowDown');
      await pressOn(page, form.getByLabel('Weekday'), 'ArrowDown');
      await typeInto(page, form.getByLabel('Time zone'), 'Europe/Berlin');
      await inspect(page, 'policies-form');
      await page.setViewportSize(PHONE);
      await inspect(page, 'policies-form-narrow');
      await page.setViewportSize(WIDE);
      await pressOn(page, button('Show what it would do'), 'Enter');

      const approves =
        'It reaches 1 host and would approve 1 update if a window were open; 1 more once its host has sent a plan; 1 is left to people';
      await expect.poll(() => isFocused(form.getByText(approves))).toBe(true);
      await form.getByText(`1 host: ${hostname}`).waitFor();
      const wouldApprove = form.getByRole('table', { name: 'Updates that it would approve' });
      await wouldApprove.getByRole('row', { name: `curl ${OFFERED.apt} apt ${hostname}` }).waitFor();
      await form
        .getByRole('listitem')
        .getByText('A package that this update installs or keeps has a known vulnerability.')
        .waitFor();
      await pressOn(page, form.getByRole('button', { name: 'Look back 30 days' }), 'Enter');
      await form.getByText('No decision about an update of these hosts was recorded.').waitFor();
      await inspect(page, 'policies-preview');
      await page.setViewportSize(PHONE);
      await inspect(page, 'policies-preview-narrow');
      await page.setViewportSize(WIDE);
      expect((await scene.stage.operator.events({ type: 'policy_published' })).length).toBe(0);
      await pressOn(page, button('Publish the policy'), 'Enter');

      await page.getByRole('heading', { level: 1, name: 'Patch night' }).waitFor();
      await page.getByText('in force', { exact: true }).waitFor();
      await page.getByText('on the second Tuesday of each month at 22:00 (Europe/Berlin), for 4 h').waitFor();
      await page.getByRole('link', { name: hostname }).first().waitFor();
      await page.getByRole('heading', { name: 'What it would approve if a window were open' }).waitFor();
      await page.getByRole('link', { name: 'curl', exact: true }).waitFor();
      const windows = page.getByRole('table', { name: 'Windows' }).getByRole('row');
      await expect.poll(() => windows.count()).toBe(1 + 5);
      await expect
        .poll(() => windows.nth(1).innerText())
        .toMatch(/Tue, .*, 22:00 to Wed, .*, 02:00 Europe\/Berlin/);
      await page.getByText('It has not run yet.').waitFor();
      await pressOn(page, page.locator('summary'), 'Enter');
      await page.getByRole('link', { name: 'bad', exact: true }).waitFor();
      await inspect(page, 'policy');

      await pressOn(page, button('Change'), 'Enter');
      const change = page.getByRole('dialog', { name: 'Change Patch night' });
      await expect.poll(() => change.getByLabel('Opens').inputValue()).toBe('monthly');
      await typeInto(page, change.getByLabel('Except'), 'curl');
      await pressOn(page, button('Show what it would do'), 'Enter');
      await change.getByRole('listitem').getByText('The policy leaves this package out.').waitFor();
      await pressOn(page, button('Publish version 2'), 'Enter');
      const versions = page.getByRole('table', { name: 'Versions of this policy' }).getByRole('row');
      await versions.nth(2).getByText('replaced by a newer version').waitFor();
      await page.getByRole('listitem').getByText('The policy leaves this package out.').waitFor();

      await pressOn(page, button('Revoke'), 'Enter');
      await pressOn(
        page,
        page.getByRole('dialog').getByRole('button', { name: 'Revoke the policy' }),
        'Enter',
      );
      await page.getByText('revoked', { exact: true }).waitFor();
      await page.getByRole('heading', { name: 'What it would approve if it were in force' }).waitFor();
      expect(await button('Revoke').count()).toBe(0);
      await button('Change and publish again').waitFor();
      await inspect(page, 'policy-revoked');
    });

    test('the list and the page say what a policy did, and why one is suspended', async () => {
      const author = { username: 'paula', password: 'a long enough password', role: 'approver' } as const;
      await scene.stage.addOperator(author);
      const { agent, hostname } = await scene.hostWith(['curl']);
      const scope = { kind: 'some', groups: [], hosts: [agent.agentId] };
      const windows = [
        {
          ...{ rrule: 'FREQ=WEEKLY;BYDAY=SA,SU', starts_on: '2026-11-01', start: '02:30' },
          ...{ zone: 'America/New_York', duration_minutes: 90 },
        },
      ];
      const terms = { ...STANDING_TERMS, security_only: true };
      const { id: policyId } = await publish({ name: 'At any time', scope });
      await publish({ name: 'Weekend', windows, terms });
      await expect.poll(async () => (await detailOf(policyId)).last_run).toMatchObject({ approved: 1 });
      const page = await scene.openAs(author);
      await page.goto('/policies');
      await page
        .getByRole('row', {
          name: /At any time.*1 host.*always open.*1 approved, 0 waiting, 0 stopped/,
        })
        .waitFor();
      await page
        .getByRole('row', {
          name: /Weekend.*all hosts.*every Saturday and Sunday at 02:30 \(America\/New_York\)/,
        })
        .waitFor();
      await inspect(page, 'policies');
      await page.getByRole('link', { name: 'At any time' }).click();
      await page.getByText('on 1 host: 1 approved, 0 waiting for a plan, 0 stopped.').waitFor();
      await page.getByText('What it would approve now').waitFor();
      await page.getByRole('link', { name: hostname }).first().waitFor();
      await pressOn(page, page.getByRole('button', { name: 'Look back 30 days' }), 'Enter');
      await page
        .getByText('Of 1 update it would have approved 1: 1 was approved. It would have left 0 to people.')
        .waitFor();
      const past = page.getByRole('table', { name: 'What it would have done' });
      await past
        .getByRole('row', { name: new RegExp(`curl .* ${hostname} .* approved it approved`) })
        .waitFor();
      await inspect(page, 'policy-that-ran');

      // A change makes its publisher the author.
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      await page.getByRole('button', { name: 'Show what it would do' }).click();
      await page.getByRole('button', { name: 'Publish version 2' }).click();
      await page.getByRole('table', { name: 'Versions of this policy' }).getByText('paula').waitFor();
      const { operator } = scene.stage;
      const answer = await operator.call('GET', '/api/v1/admin/operators');
      const { items } = expectAnswer(answer, 200, Type.Object({ items: Type.Array(Operator) }));
      const id = items.find(({ username }) => username === author.username)?.id ?? '';
      await operator.call('PATCH', `/api/v1/admin/operators/${id}`, { disabled: true });
      const admin = await scene.openAs();
      await admin.goto('/policies');
      await admin.getByRole('row', { name: /At any time suspended .* its author is disabled/ }).waitFor();
      await inspect(admin, 'policies-suspended');
    });

    test('the page of a policy says why it asks for no reboots any more', async () => {
      const admin = { username: 'rosa', password: 'a long enough password', role: 'admin' } as const;
      await scene.stage.addOperator(admin);
      const reboot = { when: 'needed', warn_minutes: 5 };
      const page = await scene.openAs(admin);
      const { id: policyId } = await publish({ name: 'With reboots', windows: [tomorrow()], reboot });
      await page.goto(`/policies/${policyId}`);
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      await page.getByRole('button', { name: 'Show what it would do' }).click();
      await page.getByRole('button', { name: 'Publish version 2' }).click();
      await page.getByRole('table', { name: 'Versions of this policy' }).getByText('rosa').waitFor();
      const { operator } = scene.stage;
      const answer = await operator.call('GET', '/api/v1/admin/operators');
      const { items } = expectAnswer(answer, 200, Type.Object({ items: Type.Array(Operator) }));
      const id = items.find(({ username }) => username === admin.username)?.id ?? '';
      await operator.call('PATCH', `/api/v1/admin/operators/${id}`, { role: 'approver' });
      const other = await scene.openAs();
      await other.goto(`/policies/${policyId}`);
      await other
        .getByText('None of both: rosa is no admin any more. An admin can publish it again.')
        .waitFor();
      await inspect(other, 'policy-without-follow-ups');
    });

    // Windows close at whole minutes of real time.
    if (process.env.TIDEGATE_LONG === '1') {
      test('the page of a policy names the hosts that missed its last window, and how long they may begin', async () => {
        const { agent, hostname } = await scene.hostWith(['curl']);
        const scope = { kind: 'some', groups: [], hosts: [agent.agentId] };
        const windows = [{ ...closingWindow(), catch_up_hours: 6 }];
        const { id } = await publish({ name: 'Missed', scope, windows });
        await expect.poll(async () => (await detailOf(id)).last_run).toMatchObject({ approved: 1 });
        const page = await scene.openAs(SECOND);
        await page.goto(`/policies/${id}`);
        await page.getByRole('heading', { name: 'What it would approve now' }).waitFor();
        await expect
          .poll(
            async () => {
              await page.reload();
              await page.getByRole('heading', { level: 1, name: 'Missed' }).waitFor();
              await page.getByRole('heading', { name: /^What it would approve/ }).waitFor();
              return await page.getByText(/End of the window: in .*; latest start: in 5 h/).allInnerTexts();
            },
            { timeout: 120_000, interval: 2_000 },
          )
          .toEqual([
            expect.stringContaining(
              '1 host fetched nothing of what was approved in the last window: it is caught up.',
            ),
          ]);
        await pressOn(page, page.getByText('Hosts that missed it', { exact: true }), 'Enter');
        await page.getByRole('link', { name: hostname }).last().waitFor();
        await inspect(page, 'policy-missed-window');
      });
    }

    test('a refusal is shown beside its field, also one that only publishing finds', async () => {
      await publish({ name: 'Taken', windows: [tomorrow()] });
      const page = await scene.openAs();
      await page.goto('/policies');
      await page.getByRole('button', { name: 'Publish a policy' }).click();
      const dialog = page.getByRole('dialog', { name: 'Publish a policy' });
      const show = dialog.getByRole('button', { name: 'Show what it would do' });
      await dialog.getByLabel('Name').fill('Taken');
      await dialog.getByLabel('What it is for').fill('  ');
      await dialog.getByLabel('Packages').fill('two words');
      await dialog.getByRole('button', { name: 'Add a window' }).click();
      await dialog.getByLabel('Time zone').fill('Europe/Atlantis');
      await show.click();
      await dialog.getByRole('alert').waitFor();
      await expect.poll(() => isFocused(dialog.getByLabel('Packages'))).toBe(true);
      await expect.poll(() => dialog.getByLabel('Packages').getAttribute('aria-invalid')).toBe('true');
      await inspect(page, 'policies-refused');
      await dialog.getByLabel('Packages').fill('*');
      await show.click();
      await dialog
        .getByRole('group', { name: 'Window 1' })
        .getByText(/is not a time zone/)
        .waitFor();
      await inspect(page, 'policies-refused-window');
      await dialog.getByLabel('Time zone').fill('UTC');
      await dialog.getByLabel('Opens').selectOption('rule');
      await expect.poll(() => dialog.getByLabel('Rule').inputValue()).toBe('FREQ=DAILY');
      await show.click();
      await dialog.getByRole('button', { name: 'Publish the policy' }).click();
      await expect.poll(() => dialog.getByLabel('What it is for').getAttribute('aria-invalid')).toBe('true');
      await dialog.getByLabel('What it is for').fill('A second one.');
      await show.click();
      await dialog.getByRole('button', { name: 'Publish the policy' }).click();
      await dialog.getByText('A policy with this name is in force already.').waitFor();
      await dialog.getByRole('button', { name: 'Back to the form' }).click();
      await expect.poll(() => dialog.getByLabel('Rule').inputValue()).toBe('FREQ=DAILY');
    });

    test('a policy is for a group, on certain weekdays but not on holidays, and stays so when it is changed', async () => {
      const { agent, hostname } = await scene.hostWith(['curl']);
      const moved = { agent_ids: [agent.agentId], group: 'night shift' };
      await scene.stage.operator.call('POST', '/api/v1/agents/group', moved);
      const page = await scene.openAs();
      await page.goto('/policies');
      await page.getByRole('button', { name: 'Publish a policy' }).click();
      const dialog = page.getByRole('dialog', { name: 'Publish a policy' });
      await dialog.getByLabel('Name').fill('Night shift');
      await dialog.getByLabel('What it is for').fill('Agreed with the night shift.');
      await dialog.getByLabel('Hosts', { exact: true }).selectOption('some');
      await dialog.getByLabel('night shift').check();
      await dialog.getByLabel('npm').check();
      await dialog.getByRole('button', { name: 'Add a window' }).click();
      await dialog.getByLabel('Opens').selectOption('weekly');
      for (const day of ['Sunday', 'Saturday']) await dialog.getByLabel(day).check();
      await dialog.getByLabel('Dates without a window').fill('2026-12-26\n2026-12-27');
      await dialog.getByLabel('Restarts of services').selectOption('needed');
      await dialog.getByLabel('Reboots').selectOption('needed');
      await dialog.getByRole('button', { name: 'Add a window' }).click();
      const second = dialog.getByRole('group', { name: 'Window 2' });
      for (const action of ['installing', 'restarting services']) await second.getByLabel(action).uncheck();
      const first = dialog.getByRole('group', { name: 'Window 1' });
      await first.getByLabel('Hours to catch up').fill('6');
      await inspect(page, 'policies-form-groups');
      await dialog.getByRole('button', { name: 'Show what it would do' }).click();
      await dialog.getByText(`the group night shift: ${hostname}`).waitFor();
      await dialog.getByRole('button', { name: 'Publish the policy' }).click();
      await page
        .getByText(
          /^every Saturday and Sunday at 22:00 .*, without 2 dates, and 6 h for hosts that missed it; every day .*, only for rebooting$/,
        )
        .waitFor();
      await page.getByText(/^It asks for those of services/).waitFor();
      const id = page.url().split('/').at(-1) ?? '';
      const { scope, terms, windows, ends_at, restart_services, reboot } = await detailOf(id);
      expect({ restart_services, reboot }).toEqual({
        restart_services: 'needed',
        reboot: { when: 'needed', warn_minutes: 5 },
      });
      expect(scope).toEqual({ kind: 'some', groups: ['night shift'], hosts: [] });
      expect(terms.ecosystems).toEqual(['apt', 'npm']);
      expect(windows).toMatchObject([
        { rrule: 'FREQ=WEEKLY;BYDAY=SA,SU', except: ['2026-12-26', '2026-12-27'], catch_up_hours: 6 },
        { rrule: 'FREQ=DAILY', actions: ['reboot'] },
      ]);
      await page.getByRole('button', { name: 'Change', exact: true }).click();
      await page.getByRole('button', { name: 'Show what it would do' }).click();
      await page.getByRole('button', { name: 'Publish version 2' }).click();
      await expect
        .poll(async () => await detailOf(id))
        .toMatchObject({
          version: 2,
          scope,
          terms,
          windows,
          ends_at,
          restart_services,
          reboot,
        });
    });

    test('a viewer can look, and is not offered to publish', async () => {
      const { id } = await publish({ name: 'To look at', windows: [tomorrow()] });
      const page = await scene.openAs(VIEWER);
      await page.goto('/policies');
      await page.getByRole('link', { name: 'To look at' }).click();
      await page.getByRole('heading', { level: 1, name: 'To look at' }).waitFor();
      await page.getByRole('heading', { name: 'What it leaves to people' }).waitFor();
      expect(page.url()).toContain(id);
      expect(await page.getByRole('button', { name: /publish|change|revoke/i }).count()).toBe(0);
    });
  },
  OFTEN,
);

/** Once, tomorrow: such a policy approves nothing during a story. */
function tomorrow() {
  const starts_on = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
  return { rrule: null, starts_on, start: '12:00', zone: 'UTC', duration_minutes: 60 };
}

/** Opened three hours ago, and is used for at least half a minute more: in its last five nothing is asked, as clocks may differ. */
function closingWindow() {
  const closesAtMs = Math.ceil((Date.now() + 330_000) / 60_000) * 60_000;
  const [starts_on = '', time = ''] = new Date(closesAtMs - 180 * 60_000).toISOString().split('T');
  return { rrule: null, starts_on, start: time.slice(0, 5), zone: 'UTC', duration_minutes: 180 };
}
