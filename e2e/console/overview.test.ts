import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
/** The history is written at least once a minute, and a busy machine takes longer. */
const poll = <T>(look: () => T) => expect.poll(look, { timeout: 90_000 });

describeConsole('the overview of the console', { hosts: 4, operators: [VIEWER] }, (scene) => {
  const answer = async (path: string) => JSON.stringify((await scene.stage.operator.call('GET', path)).body);

  test('the first screen is a ranked list of acts; each opens the list that it counts', async () => {
    await poll(() => answer('/api/v1/overview')).toContain('"hosts_enrolled":{"count":4,');
    const page = await scene.openAs();
    await page.goto('/');
    for (const name of ['To do', 'What changed?', 'Can I trust this?'])
      await page.getByRole('heading', { name }).waitFor();
    const enrolled = page.getByRole('link', { name: /hosts enrolled/ });
    await poll(() => enrolled.innerText()).toMatch(/^4\s/);
    await page.getByText('No database restore detected').waitFor();
    await poll(() => answer('/api/v1/overview')).toMatch(/"security":\{"count":[1-9]/);
    const act = page.getByRole('link', { name: /^Review: \d+ security updates? waits? for approval/ });
    const count = /\d+/.exec((await act.getAttribute('aria-label')) ?? '')?.[0];
    await inspect(page, 'overview');
    await act.click();
    await page.getByRole('heading', { name: 'Updates', exact: true }).waitFor();
    await page
      .getByText(new RegExp(`^${count} updates?$`))
      .first()
      .waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      state: 'pending',
      security: 'true',
    });
  });

  test('there is no chart before seven days; then exposure is drawn with scales, and can be read as numbers', async () => {
    await poll(() => answer('/api/v1/overview/history')).toContain('"day":');
    const page = await scene.openAs(VIEWER);
    await page.goto('/');
    await page.getByText('Charts appear here after 7 days.').waitFor();
    expect(await page.locator('main canvas').count()).toBe(0);
    writeDays(scene.stage.dataDir, 9);
    await page.reload();
    await page.getByRole('heading', { name: 'Exposure' }).waitFor();
    await page.locator('main canvas').first().waitFor();
    await page.getByText(/^4[0-9] host-days in 10 days$/).waitFor();
    await page.getByText('Show the numbers').first().click();
    await page.getByRole('table', { name: 'Hosts with a known fix that is not installed' }).waitFor();
    await inspect(page, 'overview-charts');
  });

  test('a viewer is offered nothing that adds a host', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/');
    await page.getByRole('heading', { name: 'To do' }).waitFor();
    expect(await page.getByText('lines that add hosts').count()).toBe(0);
    expect(await page.getByRole('button', { name: /command for the first host/ }).count()).toBe(0);
  });
});

describeConsole('the overview of an empty console', { hosts: 0 }, (scene) => {
  test('before the first host, the page shows the command that enrols it, and then that it is connected', async () => {
    const page = await scene.openAs();
    await page.goto('/');
    await page.getByRole('heading', { name: 'No host has joined yet' }).waitFor();
    await inspect(page, 'overview-first');
    await page.getByRole('button', { name: 'Show the line for the first host' }).click();
    const line = await page.getByTitle(/TIDEGATE_TOKEN=/).innerText();
    const registrationToken = /tgr_[\w-]{43}/.exec(line)?.[0] ?? '';
    await enrolBareAgent(scene.stage.server.url, {
      registrationToken,
      machineId: 'machine-1',
      hostname: 'first-01',
    });
    await page.getByText('first-01 connected').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('heading', { name: 'To do' }).waitFor();
  });
});

/** Days before today, on each of which some of the hosts were exposed: 45 host-days in all of nine. */
function writeDays(dataDir: string, days: number): void {
  const database = new DatabaseSync(join(dataDir, 'tidegate.db'));
  const insert = database.prepare(
    `INSERT INTO fleet_days (day, as_of, open_clear, open_vulnerable, open_unchecked, open_not_judged, exposed,
      median_age_ms, p95_age_ms, hosts_seen, exposed_hosts) VALUES (?, 0, 3, 1, 0, 0, 2, 3600000, 86400000, 4, ?)`,
  );
  for (let ago = 1; ago <= days; ago++) {
    insert.run(new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10), ago);
  }
  database.close();
}
