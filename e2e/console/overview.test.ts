import { withinOneDay } from '@tidegate/testkit/one-day';
import { expect, test } from 'vitest';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { openBeside } from '../harness/open-beside.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;

describeConsole('the overview of the console', { hosts: 4, operators: [VIEWER] }, (scene) => {
  const answer = async (path: string) => JSON.stringify((await scene.stage.operator.call('GET', path)).body);

  test('the first screen is a ranked list of acts; each opens the list that it counts', async () => {
    await expect.poll(() => answer('/api/v1/overview')).toContain('"hosts_enrolled":{"count":4,');
    const page = await scene.openAs();
    await page.goto('/');
    for (const name of ['To do', 'What changed?', 'Can I trust this?'])
      await page.getByRole('heading', { name }).waitFor();
    const enrolled = page.getByRole('link', { name: /hosts enrolled/ });
    await expect.poll(() => enrolled.innerText()).toMatch(/^4\s/);
    await page.getByText('No database restore detected').waitFor();
    await expect.poll(() => answer('/api/v1/overview')).toMatch(/"security":\{"count":[1-9]/);
    const act = page.getByRole('link', { name: /^Review: \d+ security updates? waits? for approval/ });
    const count = /\d+/.exec((await act.getAttribute('aria-label')) ?? '')?.[0];
    makeOld(scene.stage.dataDir);
    await expect.poll(() => answer('/api/v1/overview')).toMatch(/"judging_overdue":\{"count":[1-9]/);
    await page.reload();
    await page.getByRole('link', { name: /^See which: \d+ updates? ha(s|ve) not been judged/ }).waitFor();
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

  test('each act says as many as its list has rows, and a missing backup is one', async () => {
    makeHousework(scene.stage.dataDir);
    await expect.poll(() => answer('/api/v1/overview')).toMatch(/"blocked":\{"count":1,.*"due":true/);
    const page = await scene.openAs();
    await page.goto('/');
    await page.getByText('The server was never backed up').waitFor();
    for (const [width, height] of [
      [1440, 900],
      [1024, 768],
      [390, 844],
    ] as const) {
      await page.setViewportSize({ width, height });
      await inspect(page, `overview-acts-${width}`, ['light']);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    const acts = page.getByRole('list', { name: 'Acts' }).getByRole('link');
    const names = await Promise.all((await acts.all()).map((act) => act.getAttribute('aria-label')));
    const counted = names.flatMap((name) => {
      if (name === null || /^(Open settings|See how): /.test(name)) return [];
      return [{ name, count: /: (\d+) /.exec(name)?.[1] ?? '1' }];
    });
    expect(counted.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'See why: 1 update was refused when somebody asked for it',
        'Review: 2 updates are stopped by known vulnerabilities',
        'Rotate: The signing key is older than a year',
      ]),
    );
    for (const { name, count } of counted) {
      await page.goto('/');
      await page.getByRole('link', { name, exact: true }).click();
      await page.waitForURL((url) => url.pathname !== '/');
      await page
        .getByText(new RegExp(`^${count} [a-z ]+$`))
        .first()
        .waitFor();
    }
    await page.goto('/');
    await page.getByRole('link', { name: 'See how: The server was never backed up' }).click();
    await page.getByText('tidegate backup --record-external').waitFor();
    await inspect(page, 'settings-backup');
  });

  test('there is no chart before seven days; then exposure is drawn with scales, and can be read as numbers', async () => {
    await withinOneDay();
    await expect.poll(() => answer('/api/v1/overview/history')).toContain('"day":');
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
  test('no list says of no host that nothing is wrong with it', async () => {
    const page = await scene.openAs();
    for (const path of ['/updates', '/updates/by-host', '/packages']) {
      await page.goto(path);
      await page.getByRole('heading', { name: 'No host has joined yet' }).waitFor();
    }
    for (const path of ['/vulnerabilities', '/unfixed']) {
      await page.goto(path);
      await page.getByRole('heading', { name: 'Nothing is known yet' }).waitFor();
      expect(await page.getByText(/All .*packages.* were checked/).count()).toBe(0);
    }
    await inspect(page, 'unfixed-without-hosts');
  });

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
  const database = openBeside(dataDir);
  const insert = database.prepare(
    `INSERT INTO fleet_days (day, as_of, open_clear, open_vulnerable, open_unchecked, open_not_judged, exposed,
      median_age_ms, p95_age_ms, hosts_seen, exposed_hosts) VALUES (?, 0, 3, 1, 0, 0, 2, 3600000, 86400000, 4, ?)`,
  );
  for (let ago = 1; ago <= days; ago++) {
    insert.run(new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10), ago);
  }
  database.close();
}

/** As if the updates had been found three hours ago, and had no plan yet: nothing can judge them. */
function makeOld(dataDir: string): void {
  const database = openBeside(dataDir);
  database.exec(
    'UPDATE updates SET discovered_at = discovered_at - 10800000, verdict = NULL, plan_id = NULL',
  );
  database.close();
}

/** Rows for the acts that no story of hosts brings: stopped and refused updates, an old key, a fleet without a backup. */
function makeHousework(dataDir: string): void {
  const database = openBeside(dataDir);
  const waiting = "state = 'pending' AND gone = 0 AND (recommended & 8) <> 0";
  database.exec(`UPDATE updates SET verdict = 'vulnerable', stopped_under = 'introduced', plan_id = NULL
    WHERE id IN (SELECT id FROM updates WHERE ${waiting} ORDER BY id LIMIT 2)`);
  database.exec(`INSERT INTO decisions (id, agent_id, set_sha256, outcome, actor, fingerprint, document, document_sha256, decided_at)
    SELECT 'd', agent_id, 's', 'blocked', 'ada', 'f', '{}', 'd', 1 FROM updates WHERE ${waiting} ORDER BY id LIMIT 1`);
  database.exec(`INSERT INTO decision_updates (decision_id, update_id, stopped)
    SELECT 'd', id, 1 FROM updates WHERE ${waiting} ORDER BY id LIMIT 1`);
  database.exec('UPDATE signing_keys SET created_at = 1');
  database.exec('UPDATE fleet SET created_at = created_at - 9 * 86400000');
  database.close();
}
