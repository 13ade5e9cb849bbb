import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { type BareAgent, enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import type { ConsoleStage } from '../harness/console-stage.ts';
import { describeConsole } from '../harness/describe-console.ts';

/** A text that becomes a script, an element or an attribute wherever it is not escaped. */
const ATTACK = `"'><img data-attack src=x onerror="globalThis.attacked=1"><script data-attack>attacked=1</script>\${attacked=1}`;
/** Texts that programs often mishandle: very long, in other scripts, or like names of prototypes. */
const NAMES = [
  '__proto__',
  'constructor',
  'null',
  '-1/0',
  'Ω≈ç√∫˜µ≤≥÷',
  '田中さんにあげて下さい',
  '👩🏴',
  'الله أكبر',
  '%s%n%x {{7*7}} <%= 7*7 %>',
  "'; DROP TABLE updates; --",
  'javascript:alert(1)//',
  'x'.repeat(200),
];

/** Names that look like other names: the server refuses them. */
const HIDDEN = ['a\u202Etxt.exe', 'z\u200Bero\u200Bwidth', 'two\nlines', 'bell\u0007'];

let agent: BareAgent;

describeConsole(
  'what a hostile host reports',
  {
    hosts: 1,
    prepare: async (stage) => {
      agent = await hostileHost(stage);
    },
  },
  (scene) => {
    const PAGES: readonly [path: string, shows: boolean][] = [
      ['/', false],
      ['/hosts', true],
      ['/hosts/:agent', true],
      ['/updates', true],
      ['/updates/:update', true],
      ['/packages', true],
      ['/commands', false],
      ['/commands/:command', true],
      ['/events', true],
      ['/events/:event', true],
    ];

    test.each(PAGES)('%s shows it as text', async (path, shows) => {
      const { operator } = scene.stage;
      const [update] = await operator.updates({ agent_id: agent.agentId, name: ATTACK });
      const [command] = await operator.commands({ agent_id: agent.agentId });
      const [event] = await operator.events({ agent_id: agent.agentId, type: 'AGENT_ERROR' });
      const page = await scene.openAs();
      await page.goto(
        path
          .replace(':event', event?.id ?? 'none')
          .replace(':agent', agent.agentId)
          .replace(':update', update?.id ?? 'none')
          .replace(':command', command?.id ?? 'none'),
      );
      if (shows) await page.getByText('<img data-attack').first().waitFor();
      else await page.getByRole('heading', { level: 1 }).waitFor();
      await expectUnharmed(page);
      if (path === '/hosts') await inspect(page, 'hostile-hosts');
    });

    test.each(NAMES)('a package named %j is listed and found', async (name) => {
      const page = await scene.openAs();
      await page.goto(`/updates?${new URLSearchParams({ name })}`);
      const row = page.getByRole('row').filter({ hasText: name });
      await row.first().waitFor();
      await expectUnharmed(page);
    });

    test('a name from right to left turns nothing around it in titles', async () => {
      const name = 'الله أكبر';
      const [update] = await scene.stage.operator.updates({ agent_id: agent.agentId, name });
      const page = await scene.openAs();
      await page.goto(`/updates/${update?.id}`);
      await page.getByRole('heading', { level: 1 }).filter({ hasText: name }).waitFor();
      expect(await page.title()).toContain(`\u2068${name}\u2069 on `);
      // What follows the name on the line is shown right of it.
      const isAfter = await page.evaluate<boolean>(`{
        const [node] = document.querySelector('h1').childNodes;
        const at = node.data.indexOf('\u2069');
        const range = (from, to) => {
          const part = new Range();
          part.setStart(node, from);
          part.setEnd(node, to);
          return part.getBoundingClientRect();
        };
        range(at + 1, at + 4).left >= range(1, at).right - 1;
      }`);
      expect(isAfter).toBe(true);
    });

    test.each(HIDDEN)(
      'a package or host named %j is refused, as it looks like another name',
      async (name) => {
        const report = { scanned_at: new Date().toISOString(), complete: false, updates: [] };
        const answer = await agent.report({ ...report, packages: [{ name, version: '1' }] });
        expectStatus(answer, 400);
        const { server, operator } = scene.stage;
        const registrationToken = await operator.registrationToken();
        const host = { registrationToken, machineId: 'hidden', hostname: name };
        await expect(enrolBareAgent(server.url, host)).rejects.toThrow('400');
      },
    );

    test('an attack in the URL is only a filter', async () => {
      const page = await scene.openAs();
      for (const path of ['/updates', '/hosts', '/events', '/commands', '/packages']) {
        await page.goto(
          `${path}?${new URLSearchParams({ q: ATTACK, sort: ATTACK, state: ATTACK, __proto__: ATTACK })}`,
        );
        await page.getByRole('heading', { level: 1 }).waitFor();
        await expectUnharmed(page);
      }
    });
  },
);

async function expectUnharmed(page: Page): Promise<void> {
  expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
  expect(await page.locator('[data-attack]').count()).toBe(0);
}

/** A host that sends the attack in every text that the protocol allows. */
async function hostileHost({ server, operator }: ConsoleStage): Promise<BareAgent> {
  const agent = await enrolBareAgent(server.url, {
    registrationToken: await operator.registrationToken(),
    machineId: 'hostile-machine',
    hostname: ATTACK,
    system: { id: ATTACK, version_id: ATTACK },
  });
  const updateOf = (name: string) => ({
    name,
    current_version: name === ATTACK ? `1${ATTACK}` : '1.0',
    available_version: name === ATTACK ? `2${ATTACK}` : '2.0',
    origin: ATTACK,
    arch: 'amd64',
  });
  const scanned_at = new Date().toISOString();
  const updates = [ATTACK, ...NAMES].map(updateOf);
  const packages = updates.map(({ name, current_version: version }) => ({
    ...{ name, version, origin: ATTACK, source_name: ATTACK, source_version: ATTACK, arch: 'amd64' },
  }));
  expectStatus(await agent.report({ scanned_at, complete: true, packages, updates }), 200);
  const [update] = await operator.updates({ agent_id: agent.agentId, name: ATTACK });
  const plan = {
    resolved_at: scanned_at,
    // One is the update's own; the architecture of the other is an attack too.
    actions: ['amd64', ATTACK.slice(0, 256)].map((arch) => ({
      action: 'upgrade',
      name: ATTACK,
      from_version: `1${ATTACK}`,
      to_version: `2${ATTACK}`,
      origin: ATTACK,
      source_name: ATTACK,
      arch,
      artifact: {
        filename: ATTACK.replaceAll('/', '|'),
        url: `javascript:${ATTACK}`,
        size_bytes: 1,
        sha256: 'a'.repeat(64),
      },
    })),
  };
  expectStatus(await agent.call('PUT', '/plans', { sets: [[update?.id]], plan }), 200);
  expectStatus(await operator.call('POST', `/api/v1/agents/${agent.agentId}/scan`, {}), 202);
  const checkIn = {
    agent_version: '0.1.0',
    boot_id: ATTACK.slice(0, 64),
    uptime_seconds: 1,
    received: [],
    key_set_version: 1,
    inventory_digest: {},
  };
  expectStatus(await agent.call('POST', '/check-in', checkIn), 200);
  const [command] = await operator.commands({ agent_id: agent.agentId });
  const output = {
    seq: 0,
    stream: 'stdout',
    data: `\u001b[31m${ATTACK}\u001b]8;;javascript:alert(1)\u0007x\u001b]8;;\u0007\n`,
  };
  expectStatus(await agent.call('POST', `/commands/${command?.id}/output`, output), 202);
  const result = {
    status: 'failed',
    reason: ATTACK,
    exit_code: 1,
    started_at: scanned_at,
    output_tail: ATTACK,
  };
  expectStatus(await agent.call('POST', `/commands/${command?.id}/result`, result), 200);
  const event = {
    type: 'AGENT_ERROR',
    severity: 'error',
    message: ATTACK,
    at: scanned_at,
    details: { [ATTACK.slice(0, 100)]: ATTACK },
  };
  expectStatus(await agent.call('POST', '/events', { events: [event] }), 202);
  return agent;
}

function expectStatus({ status, body }: { status: number; body: unknown }, expected: number): void {
  expect([status, body]).toEqual([expected, expect.anything()]);
}
