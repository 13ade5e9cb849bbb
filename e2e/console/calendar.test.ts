import { PolicyDetail } from '@tidegate/protocol/policies-api';
import { withinOneDay } from '@tidegate/testkit/one-day';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { HOLD, STANDING } from '../../apps/server/src/testing/standing.ts';
import { inspect } from '../harness/browser.ts';
import { expectAnswer } from '../harness/operator.ts';
import { describeUpdates, VIEWER } from '../harness/update-scene.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const dateAt = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
const PHONE = { width: 360, height: 740 };

/** The browser of the stories is in UTC. */
describeUpdates('the calendar in the console', (scene) => {
  const focusedDate = (page: Page) => page.evaluate('document.activeElement?.dataset.date');

  async function fill(): Promise<string> {
    const { operator } = scene.stage;
    const windows = [
      {
        ...{ rrule: 'FREQ=DAILY', starts_on: dateAt(-2), start: '02:30' },
        ...{ zone: 'Asia/Kolkata', duration_minutes: 240 },
      },
    ];
    const request = { ...STANDING, name: 'Patch night', windows, ends_at: `${dateAt(20)}T18:00:00Z` };
    const { id } = expectAnswer(await operator.call('POST', '/api/v1/policies', request), 201, PolicyDetail);
    const always = { ...STANDING, name: 'Day shift', ends_at: `${dateAt(40)}T18:00:00Z` };
    expect((await operator.call('POST', '/api/v1/policies', always)).status).toBe(201);
    const hold = { ...HOLD, ends_at: `${dateAt(1)}T12:00:00Z` };
    expect((await operator.call('POST', '/api/v1/holds', hold)).status).toBe(201);
    return id;
  }

  test('by keyboard alone: a day is found, a blackout planned on it, and a policy changed from its window', async () => {
    await withinOneDay();
    await fill();
    const page = await scene.openAs();
    await page.goto('/calendar');
    await page.getByRole('grid', { name: 'Days' }).waitFor();
    await page.getByRole('gridcell', { selected: true }).getByText('today').waitFor();
    await inspect(page, 'calendar-month');

    await page.getByRole('gridcell', { selected: true }).focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => focusedDate(page)).toBe(dateAt(1));
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => focusedDate(page)).toBe(dateAt(8));
    await page.keyboard.press('PageDown');
    await expect.poll(() => focusedDate(page)).not.toBe(dateAt(8));
    await page.keyboard.press('t');
    await page.getByRole('gridcell', { selected: true }).getByText('today').waitFor();
    expect(new URL(page.url()).searchParams.get('day')).toBe(dateAt(0));

    await page.getByRole('gridcell', { selected: true }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('button', { name: `Plan a blackout on ${dateAt(1)}` }).focus();
    await page.keyboard.press('Enter');
    const plan = page.getByRole('dialog', { name: 'Plan a blackout' });
    await expect.poll(() => plan.getByLabel('From').inputValue()).toBe(`${dateAt(1)}T00:00`);
    await expect.poll(() => plan.getByLabel('Until').inputValue()).toBe(`${dateAt(2)}T00:00`);
    await plan.getByLabel('Name').fill('Audit');
    await plan.getByLabel('Reason').fill('the auditors are here');
    await plan.getByRole('button', { name: 'Plan the blackout' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Audit is planned.').waitFor();
    await page.getByRole('link', { name: 'Audit' }).waitFor();

    await page.keyboard.press('w');
    await page.getByRole('button', { name: 'Week', pressed: true }).waitFor();
    await inspect(page, 'calendar-week');

    await page.keyboard.press('a');
    // The first of the agenda began on the day before, which it says.
    const nights = page.getByRole('listitem').filter({ hasText: 'Patch night' });
    await nights
      .first()
      .getByText(/^21:00 on \d+ \w+ to 01:00$/)
      .waitFor();
    const night = nights.filter({ hasText: '21:00 to 01:00 on' }).first();
    await night.getByText(/^02:30 to 06:30 on \d+ \w+$/).waitFor();
    await night.getByText('Kolkata').waitFor();
    await inspect(page, 'calendar-agenda');
    await page.getByRole('button', { name: 'Change Patch night' }).first().focus();
    await page.keyboard.press('Enter');
    const change = page.getByRole('dialog', { name: 'Change Patch night' });
    await expect.poll(() => change.getByLabel('Name').inputValue()).toBe('Patch night');
    await page.keyboard.press('Escape');
    await expect.poll(() => change.count()).toBe(0);
    await page.getByRole('button', { name: 'End Audit' }).click();
    await page.getByRole('dialog', { name: 'End Audit' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Release openssl' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
    await expect.poll(() => page.getByText('openssl', { exact: true }).count()).toBeLessThan(2);
  });

  test('in another time zone, the day in which the clocks change has its hours, and both times are right', async () => {
    const { operator } = scene.stage;
    const page = await scene.openAs();
    const cdp = await page.context().newCDPSession(page);
    const [zone = ''] = ZONES.toSorted((a, b) => (dayOf(a, 23) < dayOf(b, 23) ? -1 : 1));
    const [spring, autumn] = [dayOf(zone, 23), dayOf(zone, 25)];
    await cdp.send('Emulation.setTimezoneOverride', { timezoneId: zone });
    const [starts_on = '', time = ''] = new Date(localMs(zone, `${spring}T00:30`)).toISOString().split('T');
    const windows = [{ rrule: null, starts_on, start: time.slice(0, 5), zone: 'UTC', duration_minutes: 240 }];
    const request = { ...STANDING, name: 'Spring', windows, ends_at: `${dateAt(364)}T00:00:00Z` };
    expect((await operator.call('POST', '/api/v1/policies', request)).status).toBe(201);
    await page.goto(`/calendar?view=week&day=${spring}`);
    const day = page.getByRole('gridcell', { selected: true });
    await day.getByText('23 hours').waitFor();
    // Two o'clock is skipped: half past midnight and four hours are half past five.
    await day.getByText('00:30 to 05:30', { exact: true }).waitFor();
    await page.getByText('The clocks change: this day has 23 hours in your time zone.').waitFor();
    await inspect(page, 'calendar-spring');
    await page.goto(`/calendar?view=week&day=${autumn}`);
    await page.getByRole('gridcell', { selected: true }).getByText('25 hours').waitFor();
  });

  test('on a narrow window an agenda is shown, and a viewer changes nothing', async () => {
    const page = await scene.openAs(VIEWER);
    await page.setViewportSize(PHONE);
    await page.goto('/calendar');
    await page.getByRole('button', { name: 'Agenda', pressed: true }).waitFor();
    await page.getByRole('link', { name: 'Patch night' }).first().waitFor();
    expect(await page.getByRole('button', { name: /change|plan|end /i }).count()).toBe(0);
    await inspect(page, 'calendar-phone');
  });
});

/** Their clocks skip an hour at two o'clock; one of them does within half a year. */
const ZONES = ['Europe/Berlin', 'Australia/Sydney'];

/** The next day that has so many hours in a time zone. */
function dayOf(zone: string, hours: number): string {
  const offsetAtNoonMs = (date: string) => offsetMs(zone, Date.parse(`${date}T12:00Z`));
  let days = 1;
  const gained = () => (offsetAtNoonMs(dateAt(days)) - offsetAtNoonMs(dateAt(days - 1))) / HOUR_MS;
  while (24 - gained() !== hours) days += 1;
  return dateAt(days);
}

/** The moment at which clocks show this early in the morning, before any change of that day. */
function localMs(zone: string, time: string): number {
  const asUtcMs = Date.parse(`${time}Z`);
  return asUtcMs - offsetMs(zone, asUtcMs - DAY_MS);
}

function offsetMs(zone: string, atMs: number): number {
  const shown = new Date(atMs).toLocaleString('sv', { timeZone: zone });
  return Date.parse(`${shown.replace(' ', 'T')}Z`) - atMs;
}
