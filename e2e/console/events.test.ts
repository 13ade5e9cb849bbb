import { readFile } from 'node:fs/promises';
import { isolated } from '@tidegate/protocol/isolated';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import type { ConsoleStage } from '../harness/console-stage.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
const HOSTILE = `=cmd|'/c calc'!A1 "><svg onload=alert(1)> </script><b>bold</b> \u202eabc`;

let agentId: string;
let liar: Awaited<ReturnType<typeof enrolBareAgent>>;

/** A host reports an error whose text would be markup, a formula or a script if it were not escaped. */
async function liarSpeaks(stage: ConsoleStage): Promise<void> {
  const agent = await enrolBareAgent(stage.server.url, {
    registrationToken: await stage.operator.registrationToken(),
    machineId: 'machine-of-the-liar',
    hostname: 'liar',
  });
  liar = agent;
  ({ agentId } = agent);
  const event = { type: 'AGENT_ERROR', severity: 'error', message: HOSTILE, at: new Date().toISOString() };
  expect((await agent.call('POST', '/events', { events: [event] })).status).toBe(202);
}

describeConsole('events in the console', { hosts: 3, operators: [VIEWER], prepare: liarSpeaks }, (scene) => {
  const rows = (page: Page) => page.locator('main tbody tr');

  test('an event is shown as a sentence, with its content folded and its hash one click away', async () => {
    const page = await scene.openAs();
    await page.goto('/events?type=AGENT_ENROLLED');
    await page.getByText('web-00001.example.invalid enrolled.').waitFor();
    await page.getByRole('link', { name: 'web-00001.example.invalid', exact: true }).waitFor();
    await inspect(page, 'events');
    const [newest] = await scene.stage.operator.events({ type: 'AGENT_ENROLLED' });
    expect(newest?.position).toBeGreaterThan(1);
    await rows(page).first().locator('summary').click();
    await page.getByText('registration_token_id').first().waitFor();
    await page.getByLabel('Type', { exact: true }).selectOption('');
    await page.getByLabel('Severity').selectOption('error');
    await expect.poll(() => rows(page).count()).toBe(1);
    await rows(page).first().getByRole('link').first().click();
    await page.getByTitle(/^Copy the hash: [0-9a-f]{64}$/).click();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toMatch(/^[0-9a-f]{64}$/);
  });

  test('an event that names the first of many updates says so, and leads to their commands', async () => {
    const page = await scene.openAs();
    const [event] = await scene.stage.operator.events({ type: 'AGENT_ENROLLED' });
    await page.route(`**/api/v1/events/${event?.id}`, async (route) => {
      const answer = await route.fetch();
      const content = { actor: 'olga', filter: 'state:pending', updates: ['a', 'b'], update_count: 1_234 };
      const json = { ...(await answer.json()), type: 'bulk_approval_asked', content };
      await route.fulfill({ response: answer, json });
    });
    await page.goto(`/events/${event?.id}`);
    await page.getByText('Listed below are the first 2 of 1,234 updates.').waitFor();
    await inspect(page, 'event-of-many');
    await page.getByRole('link', { name: 'All commands of this approval' }).click();
    await page.getByRole('heading', { name: 'No commands match the filter' }).waitFor();
    const { searchParams } = new URL(page.url());
    expect(Object.fromEntries(searchParams)).toEqual({ bulk_id: event?.id });
  });

  test('filters are in the URL, with times in UTC, and an empty result says so', async () => {
    const page = await scene.openAs();
    await page.goto('/events');
    await expect.poll(() => rows(page).count()).toBeGreaterThan(3);
    await page.getByLabel('Kind').selectOption('security');
    await page.getByLabel('Until (UTC)').fill('2001-01-01T10:30');
    await page.getByRole('heading', { name: 'No events match the filter' }).waitFor();
    const { searchParams } = new URL(page.url());
    expect(Object.fromEntries(searchParams)).toEqual({ kind: 'security', until: '2001-01-01T10:30:00Z' });
  });

  test('what a host says again and again is one row, with each event behind it', async () => {
    const page = await scene.openAs();
    const said = { type: 'AGENT_ERROR', severity: 'warning', message: 'the disk is full' };
    const events = Array.from({ length: 12 }, () => ({ ...said, at: new Date().toISOString() }));
    expect((await liar.call('POST', '/events', { events })).status).toBe(202);
    await page.goto('/events?severity=warning&type=AGENT_ERROR');
    await page.getByText('11 more like it').click();
    expect(await rows(page).count()).toBe(1);
    const alike = page.getByRole('list', { name: 'Events that say the same' }).getByRole('link');
    expect(await alike.count()).toBe(11);
    await inspect(page, 'events-alike');
    await alike.last().click();
    await page.getByTitle(/^Copy the hash: [0-9a-f]{64}$/).waitFor();
  });

  test('the evidence of a span is saved as one signed file, from the log and from the page of a host', async () => {
    const page = await scene.openAs(VIEWER);
    const save = async () => {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download', exact: true }).click();
      const file = await download;
      expect(file.suggestedFilename()).toMatch(/^evidence-\d{4}-\d\d-\d\d-to-\d{4}-\d\d-\d\d\.tar$/);
      await page.getByText('The evidence is saved.').first().waitFor();
      return readFile(await file.path(), 'latin1');
    };
    await page.goto('/events');
    await page.getByRole('button', { name: 'Evidence for an auditor' }).click();
    await page.getByRole('heading', { name: 'Evidence of all hosts' }).waitFor();
    await inspect(page, 'evidence');
    const all = await save();
    expect(all.slice(0, 10)).toBe('README.txt');
    expect([all.includes('manifest.json'), all.includes('web-00001')]).toEqual([true, true]);
    await page.goto(`/hosts/${agentId}`);
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Evidence for an auditor' }).click();
    await page.getByRole('heading', { name: 'Evidence of liar' }).waitFor();
    const one = await save();
    expect([one.includes(agentId), one.includes('web-00001')]).toEqual([true, false]);
  });

  test('what an agent reports is text on the page, and never a formula in a file', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto(`/events?agent_id=${agentId}&type=AGENT_ERROR&severity=error`);
    await page.getByText(`The agent reported an error: ${isolated(HOSTILE)}.`).waitFor();
    await page.locator('main summary').first().click();
    expect(await page.locator('main svg[onload], main b').count()).toBe(0);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe('events.csv');
    const [head, row, ...rest] = (await readFile(await file.path(), 'utf8')).trimEnd().split('\r\n');
    expect(head).toMatch(/^id,kind,type,/);
    expect([row?.includes(agentId), rest]).toEqual([true, []]);
    await page.getByText('The events are saved.').waitFor();
    await inspect(page, 'events-csv');
  });

  test('the page says up to which event older ones were removed, and where that is recorded', async () => {
    const page = await scene.openAs();
    const [event] = await scene.stage.operator.events({ type: 'AGENT_ENROLLED' });
    await page.route('**/api/v1/events?*type=events_pruned*', (route) =>
      route.fulfill({
        json: {
          items: [
            {
              ...{ ...event, type: 'events_pruned', agent_id: null, actor: 'server' },
              content: { from_position: 1, to_position: 1234, retention_days: 90 },
            },
          ],
          next_cursor: null,
          total: 1,
        },
      }),
    );
    await page.goto('/events');
    const note = page.locator('main p', { hasText: 'Events 1 to 1,234 were removed' });
    await note.waitFor();
    await inspect(page, 'events-removed');
    await page.setViewportSize({ width: 390, height: 844 });
    await inspect(page, 'events-removed-narrow');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await note.getByRole('link').click();
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/events/${event?.id}`);
  });

  test('nothing is said of removed events while all are there', async () => {
    const page = await scene.openAs();
    await page.goto('/events');
    await expect.poll(() => rows(page).count()).toBeGreaterThan(3);
    await page.getByText('How to verify that nobody changed these events').waitFor();
    expect(await page.getByText('were removed; the last of them').count()).toBe(0);
  });

  test('the page says how to verify the log without this server', async () => {
    const page = await scene.openAs();
    await page.goto('/events');
    await page.getByText('How to verify that nobody changed these events').click();
    await page.getByText('tidegate doctor --verify-events --file events.ndjson --keys keys').waitFor();
  });
});
