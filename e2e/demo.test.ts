import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from '@tidegate/testkit/run-tool';
import { Type } from 'typebox';
import { expect, onTestFinished, test } from 'vitest';
import { ADMIN, PASSWORD } from '../scripts/demo/people.ts';
import { startChild } from './harness/child.ts';
import { parsed, post } from './harness/first-operator.ts';

const REPOSITORY = join(import.meta.dirname, '..');
const DEMO = join(REPOSITORY, 'scripts/demo.ts');
const READY_MAX_MS = 300_000;
const Token = Type.Object({ token: Type.String() });
const List = Type.Object({ total: Type.Integer({ minimum: 1 }) });
const Told = Type.Object({
  needs_me: Type.Object({ backup: Type.Object({ due: Type.Boolean(), taken_at: Type.String() }) }),
  lying: Type.Object({ machine_mismatches: Type.Object({ count: Type.Integer() }) }),
});
const Seen = Type.Object({
  items: Type.Array(Type.Object({ hostname: Type.String(), last_seen_at: Type.String() })),
});

/** Every page has something to see. */
const LISTS = [
  ...[
    'agents',
    'updates?state=pending',
    'updates?state=installed',
    'updates?state=failed',
    'packages',
    'unfixed',
  ],
  ...['commands', 'policies', 'rollouts', 'blackouts', 'holds', 'views', 'notifications/channels'],
  ...['notifications/rules', 'notifications/deliveries', 'admin/age-exceptions', 'admin/vex-statements'],
  ...['admin/operators', 'admin/sessions', 'admin/api-tokens', 'admin/registration-tokens'],
  ...['exploited_fix_waits', 'agent_offline', 'MACHINE_ID_MISMATCH', 'update_failed', 'approval_blocked'].map(
    (type) => `events?type=${type}`,
  ),
  ...['reboots_asked', 'reboot_ended', 'rollout_finished', 'probes_red', 'ARTIFACT_DIVERGENCE'].map(
    (type) => `events?type=${type}`,
  ),
  'events?about=administration',
];

test.each([
  ['--port', '70000', 'give a whole number from 0 to 65535'],
  ['--hosts', 'many', 'give a whole number from 1 to 5000'],
])('%s %s is refused with what is allowed', async (option, value, allowed) => {
  const child = startChild(process.execPath, [DEMO, option, value], { env: {}, cwd: REPOSITORY });
  expect((await child.ended).code).toBe(2);
  expect(child.stderr[0]).toBe(`${option} "${value}" is not allowed: ${allowed}.`);
});

if (process.env.TIDEGATE_LONG === '1') {
  test('the demo lives on with a history that verifies, and leaves nothing behind', {
    timeout: 2 * READY_MAX_MS,
  }, async () => {
    const env = { PATH: process.env.PATH ?? '' };
    const child = startChild(process.execPath, [DEMO, '--port', '0'], {
      env,
      cwd: REPOSITORY,
      asGroup: true,
    });
    onTestFinished(async () => {
      if (!child.hasEnded()) child.signal('SIGINT');
      await child.ended;
    });
    const url = /http:\S+$/.exec(await child.line(/^ {2}console +http:/, READY_MAX_MS))?.[0] ?? '';
    const folder = /, in (\S+)$/.exec(child.stdout.find((line) => line.includes(', in ')) ?? '')?.[1] ?? '';
    const { token } = await parsed(
      await post(`${url}/api/v1/auth/login`, { username: ADMIN, password: PASSWORD }),
      Token,
    );
    const get = (path: string) =>
      fetch(`${url}/api/v1/${path}`, { headers: { authorization: `Bearer ${token}` } });
    const empty: string[] = [];
    for (const path of LISTS) {
      const answer: unknown = await (await get(path)).json();
      if (!(Object(answer).total > 0 || Object(answer).items?.length > 0)) empty.push(path);
    }
    expect(empty).toEqual([]);
    await parsed(await get('rollouts?state=running'), List);

    // A good operator's fleet: backed up, and a host whose agent was refused for its machine asks no more.
    const { needs_me, lying } = await parsed(await get('overview'), Told);
    expect(needs_me.backup.due).toBe(false);
    expect(lying.machine_mismatches.count).toBeLessThan(5);

    const seen = async () => {
      const { items } = await parsed(await get('agents?limit=100'), Seen);
      return items.find(({ hostname }) => hostname.startsWith('web-01'))?.last_seen_at;
    };
    const before = await seen();
    await expect.poll(seen, { interval: 1_000 }).not.toBe(before);

    const verified = await runTool(
      process.execPath,
      [join(REPOSITORY, 'apps/server/src/main.ts'), 'doctor', '--verify-events'],
      {
        env: { ...env, SERVICE_DATA_DIR: folder },
      },
    );
    expect(verified).toContain('The log of events is intact');
    child.signal('SIGINT');
    expect((await child.ended).code).toBe(0);
    expect(existsSync(folder)).toBe(false);
  });
}
