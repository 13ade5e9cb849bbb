import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CheckInAnswer, type InventoryPackage } from '@tidegate/protocol/agent-api';
import { CommandPayload } from '@tidegate/protocol/documents';
import { withinOneDay } from '@tidegate/testkit/one-day';
import type { Page } from 'playwright-core';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import type { BareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { fieldsOf } from '../harness/forge.ts';
import { aptAction, OFFERED } from '../harness/offer-updates.ts';
import { openBeside } from '../harness/open-beside.ts';
import { expectAnswer } from '../harness/operator.ts';
import { describeUpdates, SECOND } from '../harness/update-scene.ts';

const DAY_MS = 86_400_000;
const PHONE = { width: 390, height: 844 };
const LONG = 'x'.repeat(200);
const OUT = fileURLToPath(new URL('../out/console', import.meta.url));
const COLOUR = 'getComputedStyle(document.querySelector("main ol a")).color';
/** What 200 more entries may cost of a processor, in milliseconds, whatever else runs on the machine. */
const PAGE_MS = 1_000;
const FOCUSED = 'document.activeElement.textContent';
/** The packages of each entry of the timeline, with their new versions. */
const PACKAGES = `[...document.querySelectorAll('main ol > li')].map((entry) =>
  [...entry.querySelectorAll('ul > li')].map((line) => {
    const [, name, version] = line.firstElementChild.children;
    return name.textContent + ' ' + version.textContent.split(' ').at(-1);
  }).toSorted())`;
/** How far the window scrolls sideways. */
const SIDEWAYS = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
const rows = (page: Page) => page.locator('main tbody tr');

/** A day of the reader that is over. */
function dayBack(days: number): string {
  const at = new Date(Date.now() - days * DAY_MS);
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((n) => String(n).padStart(2, '0')).join('-');
}

describeUpdates('the history of a host in the console', (scene) => {
  /**
   * A host that first reported ten days ago, with nginx changed by hand five days ago; today an approved installation of nginx,
   * and a package with a long name from outside.
   */
  async function hostWithPast() {
    const host = await scene.hostWith(['nginx', 'sed']);
    const { agent, idOf } = host;
    const report = reporterOf(agent);
    const id = idOf('nginx');
    await scene.stage.operator.approved(id);
    await carryOut(agent);
    await report({ nginx: OFFERED.apt, sed: '1.0.0' });
    await report({ nginx: OFFERED.apt, sed: '1.0.0', [LONG]: '1.0.0' });
    const tags = { agent_ids: [agent.agentId], set: ['place=attic'], remove: [] };
    expect(await scene.stage.operator.call('POST', '/api/v1/agents/tags', tags)).toMatchObject({
      status: 200,
    });
    return { ...host, id, report };
  }

  /** Moves what a host has reported so far into the past: nothing else makes a server wait for days. */
  function age(agentId: string, days: number): void {
    using database = openBeside(scene.stage.dataDir);
    database
      .prepare(
        `UPDATE inventory_changes SET changed_at = changed_at - ? WHERE agent_number =
          (SELECT number FROM inventory_agents WHERE agent_id = ?)`,
      )
      .run(days * DAY_MS, agentId);
    database
      .prepare('UPDATE inventory_reports SET changes_since = changes_since - ? WHERE agent_id = ?')
      .run(days * DAY_MS, agentId);
  }

  test('what was installed on a date takes at most three clicks from the host', async () => {
    const { agent, hostname, report } = await hostWithPast();
    age(agent.agentId, 5);
    await report({ nginx: '9.9.9', new: '1.0.0' });
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}`);
    let clicks = 0;
    const click = async (target: ReturnType<Page['getByRole']>) => {
      clicks++;
      await target.click();
    };
    await click(page.getByRole('link', { name: 'What changed, and what was installed on a day' }));
    await page.getByRole('heading', { name: `History of ${hostname}` }).waitFor();
    await click(page.getByLabel('What was installed on'));
    await page.getByLabel('What was installed on').fill(dayBack(2));
    await page.getByRole('table', { name: /^What was installed on/ }).waitFor();
    expect(clicks).toBeLessThanOrEqual(3);
    await expect.poll(() => rows(page).count()).toBe(3);
    await page.getByRole('row', { name: `nginx ${OFFERED.apt}` }).waitFor();
    await inspect(page, 'history-on-a-day');

    await page.getByLabel('Compare with').fill(dayBack(0));
    await page.getByRole('table', { name: /^What changed from/ }).waitFor();
    await expect
      .poll(async () => (await rows(page).allInnerTexts()).map((text) => text.split(/\s+/).slice(0, 2)))
      .toEqual([
        ['new', 'installed'],
        ['nginx', 'changed'],
        ['sed', 'removed'],
        [LONG, 'removed'],
      ]);
    await inspect(page, 'history-compared');

    // Before the first report nothing is known, and none of it is shown.
    await page.getByRole('button', { name: 'Back to the timeline' }).click();
    await page.getByLabel('What was installed on').fill(dayBack(30));
    await page.getByText('What was installed on that day is not known.').waitFor();
    await page.getByText(/^apt: known since/).waitFor();
    await page.getByRole('heading', { name: 'Not known', exact: true }).waitFor();
    expect(await rows(page).count()).toBe(0);
    await inspect(page, 'history-too-old');
    for (const query of ['', `?on=${dayBack(2)}`, `?on=${dayBack(2)}&with=${dayBack(0)}`]) {
      await page.setViewportSize(PHONE);
      await page.goto(`/hosts/${agent.agentId}/history${query}`);
      await page.getByText(LONG).first().waitFor();
      expect(await page.evaluate(SIDEWAYS), query).toBe(0);
      await inspect(
        page,
        `history-390-${query === '' ? 'timeline' : query.includes('with') ? 'compared' : 'day'}`,
      );
    }
  });

  test('the timeline says by day who approved what was installed, and what came from outside; by keyboard', async () => {
    await withinOneDay();
    const { agent, id, hostname } = await hostWithPast();
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}/history`);
    const today = page.getByRole('region', { name: /\d{4}$/ }).first();
    const entry = (text: RegExp) => today.getByRole('listitem').filter({ hasText: text });
    await entry(/nginx.*1\.0\.0.*to 3\.0\.12-1.*approved by/s)
      .first()
      .waitFor();
    await entry(/outside Tidegate: no approved command brought it/)
      .first()
      .waitFor();
    await entry(/asked the host to install an update/)
      .first()
      .waitFor();
    await entry(/tags and groups/)
      .first()
      .waitFor();
    await inspect(page, 'history-timeline');

    await page.getByLabel('Kind').focus();
    await page.getByLabel('Kind').selectOption('packages outside Tidegate');
    await expect.poll(() => today.getByText('approved by').count()).toBe(0);
    await page.getByRole('searchbox', { name: 'Package name' }).fill('no such package');
    await page.getByRole('heading', { name: 'Nothing in this period matches the filter' }).waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).press('Enter');
    const record = entry(/nginx/).getByRole('link', { name: 'Record of this installation' }).first();
    await record.focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/updates/${id}/record`);
    await page.getByRole('heading', { name: `Record: nginx on ${hostname}` }).waitFor();
    const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem');
    await expect.poll(() => steps.count()).toBe(8);
    await page.getByText('The host had all files after 12 min').waitFor();
    await page.getByText('The host reported success after 3 min.').waitFor();
    await page.getByText(`The host has ${OFFERED.apt}; it had 1.0.0 before.`).waitFor();
    await steps
      .filter({ hasText: /^Approved/ })
      .getByText('olga approved it')
      .waitFor();
    await expect.poll(() => steps.getByText('no time on record').count()).toBeLessThanOrEqual(1);
    await inspect(page, 'history-record');
    await page.setViewportSize(PHONE);
    expect(await page.evaluate(SIDEWAYS)).toBe(0);
    await inspect(page, 'history-record-390', ['light']);

    // On paper: black on white, also in the dark theme, and without the menu.
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
    expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(false);
    expect(await page.evaluate('getComputedStyle(document.body).color')).toBe('rgb(0, 0, 0)');
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
  });

  test('older entries are loaded by keyboard, in order and once, also when more comes meanwhile', async () => {
    const { agent, report } = await scene
      .hostWith([])
      .then((host) => ({ ...host, report: reporterOf(host.agent) }));
    const names = Array.from({ length: 150 }, (_, n) => `p${String(n).padStart(3, '0')}`);
    const versions = (version: string) => report(Object.fromEntries(names.map((name) => [name, version])));
    for (const version of ['1', '2', '3', '4']) await versions(version);
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}/history`);
    await page.getByLabel('Kind').selectOption('packages outside Tidegate');
    const older = page.getByRole('button', { name: 'Load older entries' });
    await page.getByText(/^2 entries back to /).waitFor();
    await page.getByText('45 more packages, and some that are not loaded yet').waitFor();
    await inspect(page, 'history-older-more');
    await older.focus();
    await page.keyboard.press('Enter');
    await page.getByText(/^3 entries back to /).waitFor();
    await expect.poll(() => page.evaluate(FOCUSED)).toBe('Load older entries');
    // 150 more, so that the newest page begins later than where the loaded part began.
    await versions('5');
    await expect
      .poll(async () => {
        await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
        return page.getByText(/^4 entries back to /).count();
      })
      .toBe(1);
    await page.keyboard.press('Enter');
    // The last one has nothing before it: the button goes, and the focus is where it was.
    await page.getByText('That is everything of this period: 5 entries.').waitFor();
    await expect.poll(() => page.evaluate(FOCUSED)).toMatch(/^That is everything/);
    expect(await older.count()).toBe(0);
    // A filter keeps its own focus, though its list has an end as well.
    await page.getByLabel('Kind').focus();
    await page.getByLabel('Kind').selectOption('commands');
    await page.getByRole('heading', { name: 'Nothing in this period matches the filter' }).waitFor();
    await page.getByLabel('Kind').selectOption('packages outside Tidegate');
    await expect.poll(() => page.locator('main ol > li').count()).toBe(5);
    expect(await page.evaluate('document.activeElement.tagName')).toBe('SELECT');
    expect(await page.evaluate(PACKAGES)).toEqual(
      ['5', '4', '3', '2', '1'].map((version) => names.map((name) => `${name} ${version}`)),
    );
    expect(await page.getByText('not loaded yet').count()).toBe(0);
    await inspect(page, 'history-older', ['light']);
  });

  test('a timeline of 2,000 entries goes on without a wait', async () => {
    const { agent } = await scene.hostWith([]);
    const page = await scene.openAs();
    await page.route('**/api/v1/events?*', async (route) => {
      const cursor = Number(new URL(route.request().url()).searchParams.get('cursor') ?? '0');
      const items = Array.from({ length: 200 }, (_, i) => eventOf(cursor + i, agent.agentId));
      await route.fulfill({ json: { items, next_cursor: String(cursor + 200), total: 10_000 } });
    });
    await page.goto(`/hosts/${agent.agentId}/history?kind=labels`);
    const older = page.getByRole('button', { name: 'Load older entries' });
    const worked = await processorTimeOf(page);
    const took: number[] = [];
    for (let entries = 200; entries < 2_000; entries += 200) {
      await page.getByText(`${entries.toLocaleString('en')} entries back to`).waitFor();
      const before = await worked();
      await older.press('Enter');
      await page.getByText(`${(entries + 200).toLocaleString('en')} entries back to`).waitFor();
      took.push(Math.round((await worked()) - before));
    }
    console.log(`processor time for 200 more entries: ${took.join(', ')} ms`);
    expect(await page.locator('main ol > li').count()).toBe(2_000);
    // What is listed already is not drawn again.
    expect(Math.min(...took.slice(-3))).toBeLessThan(PAGE_MS);
    await page.setViewportSize(PHONE);
    expect(await page.evaluate(SIDEWAYS)).toBe(0);
    await older.scrollIntoViewIfNeeded();
    await page.screenshot({ path: join(OUT, 'history-older-390.png') });
  });

  test('an error while loading older entries is said, and the button tries again', async () => {
    const { agent } = await scene.hostWith([]);
    const page = await scene.openAs();
    let isBroken = true;
    await page.route('**/api/v1/events?*', async (route) => {
      const cursor = new URL(route.request().url()).searchParams.get('cursor');
      if (cursor !== null && isBroken) return route.fulfill({ status: 500, body: '' });
      const first = cursor === null ? 0 : 200;
      const items = Array.from({ length: 200 }, (_, i) => eventOf(first + i, agent.agentId));
      await route.fulfill({ json: { items, next_cursor: cursor === null ? '200' : null, total: 400 } });
    });
    // Of 200 events none is of this kind: that is not the end.
    await page.goto(`/hosts/${agent.agentId}/history?kind=approvals`);
    await page.getByText(/^Nothing of this kind back to /).waitFor();
    const older = page.getByRole('button', { name: 'Load older entries' });
    await older.press('Enter');
    await page.getByRole('alert').waitFor();
    isBroken = false;
    await older.press('Enter');
    await page.getByRole('heading', { name: 'Nothing in this period matches the filter' }).waitFor();
  });

  test('a record has the reason of an override and the second signature, and prints on one sheet', async () => {
    const { agent, idOf, hostname } = await scene.hostWith(['bad']);
    const id = idOf('bad');
    const reason = `Exploited in the wild, ticket 4711.\n${'The fix cannot wait for the parser. '.repeat(8)}`;
    const { operator } = scene.stage;
    await operator.approved(id, { override_supply_chain: true, override_reason: reason });
    const signature = { keyid: 'vault-2026', sig: `${'A'.repeat(86)}==` };
    expect(await operator.call('POST', `/api/v1/updates/${id}/countersign`, signature)).toMatchObject({
      status: 200,
    });
    await carryOut(agent);
    const page = await scene.openAs();
    await page.goto(`/updates/${id}/record`);
    await page.getByRole('heading', { name: `Record: bad on ${hostname}` }).waitFor();
    const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem');
    const step = (label: string) => steps.filter({ hasText: new RegExp(`^${label}`) });
    await expect.poll(() => steps.count()).toBe(9);
    await step('Approved').getByText('olga let it pass, with this reason:').waitFor();
    await step('Approved').getByText('Exploited in the wild, ticket 4711.').waitFor();
    await step('Approved').getByText('The signed approval has the hash of this reason.').waitFor();
    await step('Second signature').getByText('olga added a signature by the key vault-2026.').waitFor();
    expect(await step('Second signature').getByText('no time on record').count()).toBe(0);
    await inspect(page, 'history-record-override');
    await page.setViewportSize(PHONE);
    expect(await page.evaluate(SIDEWAYS)).toBe(0);
    await inspect(page, 'history-record-override-390');

    /** Prints on so many sheets. */
    async function printed(name: string, sheets: number): Promise<void> {
      const pdf = await page.pdf({ format: 'A4', path: join(OUT, `${name}.pdf`) });
      // One object for each sheet; the list of them is of another type.
      expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)).toHaveLength(sheets);
    }
    await printed('history-record', 1);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.evaluate(COLOUR)).toBe('rgb(0, 0, 0)');
    await page.emulateMedia({ media: null, colorScheme: 'light' });

    // What does not fit is said, in words and not by its colour alone.
    await page.route('**/approval', async (route) => {
      const answer = await route.fetch();
      const { approval } = await answer.json();
      const long = { reason: `${reason}\n`.repeat(12), reason_is_signed: false };
      const override = { ...approval.override, ...long };
      await route.fulfill({ json: { approval: { ...approval, signed: 'bad', override } } });
    });
    await page.reload();
    await step('Approved').getByText('This is not the reason that was signed').waitFor();
    await step('Approved').getByText('No key of this server signed the approval').waitFor();
    await inspect(page, 'history-record-changed-390');
    await printed('history-record-long', 2);

    await page.unroute('**/approval');
    await page.reload();
    await step('Second signature').getByRole('link', { name: 'Event in the log' }).press('Enter');
    await page.waitForURL('**/events/*');
    await page.getByText('added a second signature to an approval').first().waitFor();
  });

  test('a record names the bulk approval with its filter, and the operator of the second signature', async () => {
    const names = ['libpoppler-shared-one', 'libpoppler-shared-two'] as const;
    const { agent, idOf, hostname } = await scene.hostWith(names);
    const id = idOf('libpoppler-shared-one');
    // Many at once need their own plan, which is one transaction.
    const plan = { resolved_at: new Date().toISOString(), actions: names.map((name) => aptAction(name)) };
    const planned = await agent.call('PUT', '/plans', { sets: [names.map(idOf)], plan });
    expect(planned).toMatchObject({ status: 200 });
    const filter = { state: 'pending', host: hostname, q: 'libpoppler-shared' };
    const approving = { filter, confirm_count: 2 };
    const approved = await scene.stage.operator.call('POST', '/api/v1/updates/approve', approving);
    expect(approved).toMatchObject({ status: 200, body: { approved: [{}, {}] } });
    const signing = await scene.openAs(SECOND);
    await signing.goto(`/updates/${id}`);
    await signing.getByText('Countersign', { exact: true }).click();
    await signing.getByLabel('Key id').fill('vault-2026');
    await signing.getByLabel('Signature').fill(`${'A'.repeat(86)}==`);
    await signing.getByRole('button', { name: 'Add the signature' }).click();
    await signing.getByText('The token has 2 signatures now.').waitFor();
    await carryOut(agent);
    await reporterOf(agent)({ [names[0]]: OFFERED.apt, [names[1]]: OFFERED.apt });

    const page = await scene.openAs();
    await page.goto(`/updates/${id}/record`);
    const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem');
    const step = (label: string) => steps.filter({ hasText: new RegExp(`^${label}`) });
    await step('Second signature').getByText('otto added a signature by the key vault-2026.').waitFor();
    await step('Approved').getByText('olga approved it in a bulk approval.').waitFor();
    await step('Approved')
      .getByText('Part of one bulk approval of 2 updates, which olga asked for at')
      .waitFor();
    const chosen = `state:pending q:libpoppler-shared host:${hostname}`;
    await step('Approved').getByRole('blockquote').getByText(chosen, { exact: true }).waitFor();
    await step('Approved').getByText('In one transaction with another update of the host.').waitFor();
    await inspect(page, 'history-record-bulk');
    await page.setViewportSize(PHONE);
    expect(await page.evaluate(SIDEWAYS)).toBe(0);
    await inspect(page, 'history-record-bulk-390');
    const pdf = await page.pdf({ format: 'A4', path: join(OUT, 'history-record-bulk.pdf') });
    expect(pdf.toString('latin1').match(/\/Type \/Page\b/g)).toHaveLength(1);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.emulateMedia({ media: 'print' });
    await page.screenshot({ path: join(OUT, 'history-record-bulk-print.png'), fullPage: true });
    const events = await scene.stage.operator.events({ type: 'bulk_approval_asked' });
    const event = events.find(({ content }) => content.filter === chosen);
    await step('Approved')
      .getByText(event?.id ?? 'no event')
      .waitFor();
    await page.emulateMedia({ media: null });
    await step('Approved').getByRole('link', { name: 'Event in the log' }).click();
    await page.getByRole('link', { name: 'update_approved', exact: true }).waitFor();
    await page.goBack();
    await step('Approved').getByRole('link', { name: 'Event of the bulk approval' }).click();
    await page.waitForURL(`**/events/${event?.id}`);
    await page.getByText(`by the filter ${chosen}`).waitFor();
    await page.getByRole('link', { name: 'All commands of this approval' }).click();
    const commands = page.locator('main tbody tr');
    await expect.poll(() => commands.count()).toBe(1);
    await commands.getByText(hostname).waitFor();
    await inspect(page, 'history-bulk-commands');
    await page.setViewportSize(PHONE);
    expect(await page.evaluate(SIDEWAYS)).toBe(0);
    await inspect(page, 'history-bulk-commands-390');
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goBack();
    await page.goBack();
    await step('Signed and sent').getByRole('link', { name: 'The command' }).click();
    await page.waitForURL('**/commands/*');
  });

  test('an error can be retried, and a host without a report says so', async () => {
    const { agent } = await scene.hostWith([]);
    const page = await scene.openAs();
    await page.route('**/inventory/changes*', (route) => route.fulfill({ status: 500, body: '' }));
    await page.goto(`/hosts/${agent.agentId}/history`);
    const again = page.getByRole('alert').getByRole('button', { name: 'Try again' });
    await again.waitFor();
    await page.unroute('**/inventory/changes*');
    await again.click();
    await page.getByLabel('Kind').selectOption('packages outside Tidegate');
    await page.getByRole('heading', { name: 'Nothing in this period matches the filter' }).waitFor();
  });
});

/** Reports what a host has installed, by name. */
function reporterOf(agent: BareAgent): (packages: Record<string, string>) => Promise<void> {
  return async (packages) => {
    const reported = Object.entries(packages).map(
      ([name, version]): InventoryPackage => ({ name, version, arch: 'amd64' }),
    );
    const scan = { scanned_at: new Date().toISOString(), complete: true, packages: reported, updates: [] };
    expect(await agent.call('PUT', '/inventory/apt', scan)).toMatchObject({ status: 200 });
  };
}

/** How long a page has kept a processor busy, in milliseconds. */
async function processorTimeOf(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return (metrics.find(({ name }) => name === 'ThreadTime')?.value ?? Number.NaN) * 1_000;
  };
}

/** An event of the past, one for each minute back. */
function eventOf(n: number, agentId: string) {
  return {
    ...{ id: `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`, kind: 'system', severity: 'info' },
    ...{ type: 'HOST_TAGS_CHANGED', component: 'agents', agent_id: agentId, hostname: 'web', actor: 'olga' },
    ...{ content: {}, previous_hash: null, hash: '' },
    created_at: new Date(Date.now() - n * 60_000).toISOString(),
  };
}

/** Carries out the one installation that is delivered, as a host says. */
async function carryOut(agent: BareAgent): Promise<void> {
  const request = {
    ...{ agent_version: '0.1.0', boot_id: 'boot', uptime_seconds: 1, received: [], key_set_version: 1 },
    inventory_digest: {},
  };
  const { commands } = expectAnswer(await agent.call('POST', '/check-in', request), 200, CheckInAnswer);
  const install = commands
    .map((envelope) => Value.Parse(CommandPayload, fieldsOf(envelope)))
    .find(({ action }) => action === 'install_update');
  const path = `/commands/${install?.command_id}/result`;
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  for (const result of [
    { status: 'running', started_at: ago(15) },
    { status: 'running', installing_at: ago(3) },
    { status: 'success', finished_at: ago(0) },
  ])
    expect(await agent.call('POST', path, result)).toMatchObject({ status: 200 });
}
