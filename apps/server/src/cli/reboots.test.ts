import { describe, expect, test } from 'vitest';
import { openDatabase } from '../platform/db/open.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { servedPlaces } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';

const places = servedPlaces();
const ASK = ['ask', '--until', '2026-11-22T09:00:00Z', '--reason', 'the new kernel'];

describe.each(SAMPLED_ENGINES)('tidegate reboots on $name', (engine) => {
  async function open() {
    const it = await places(engine);
    return { ...it, reboots: (...words: string[]) => it.run(['reboots', ...words]) };
  }

  test('ask says what it would queue, and queues nothing where no host needs it', async () => {
    const it = await open();
    expect(await it.reboots(...ASK, '--dry-run')).toMatchObject({
      ...{ code: 0, err: '', out: 'Would queue: 0 hosts of all hosts, until 2026-11-22T09:00:00Z.' },
    });
    expect((await it.reboots(...ASK)).out).toContain('Queued: 0 hosts');
    expect(JSON.parse((await it.reboots('list', '--json')).out)).toEqual({ items: [] });
  });

  test('list says what each host waits for, and cancel takes one out', async () => {
    const it = await open();
    const database = openDatabase(it, databaseOptions());
    await insertTestAgent(database, { n: 1 });
    await database.transact((tx) => tx.updateTable('agents').set({ boot_id: 'boot-1' }).execute());
    await database.close();
    expect((await it.reboots(...ASK, '--all')).out).toContain('Queued: 1 host of');
    expect((await it.reboots('list')).out).toMatch(
      /host-1 +reboot +queued +the host to check in +2026-11-22/,
    );
    const { items } = JSON.parse((await it.reboots('list', '--json')).out);
    expect(items).toMatchObject([{ hostname: 'host-1', state: 'queued', waits_for: 'online' }]);
    expect((await it.reboots('cancel', items[0].id)).out).toBe('Cancelled.');
    expect((await it.reboots('show', items[0].id)).out).toContain('state: cancelled');
    expect((await it.reboots('cancel', items[0].id)).err).toContain('it has ended already');
  });

  test('limit sets the slots of a group, which slots shows', async () => {
    const it = await open();
    expect((await it.reboots('limit', '--group', 'web', '--at-once', '3', '--healthy', '5')).code).toBe(0);
    expect(JSON.parse((await it.reboots('slots', '--json')).out)).toEqual({
      items: [
        {
          ...{ group: 'web', max_at_once: 3, min_healthy: 5, halt_after: 2 },
          ...{ is_halted: false, taken: 0, waiting: 0, slots: [] },
        },
      ],
    });
    expect((await it.reboots('slots')).out).toMatch(/web +0 of 3 +0 +5/);
  });

  test('fleet-lock add prints the credential alone, once; list names its token; revoke ends it', async () => {
    const it = await open();
    const added = await it.reboots('fleet-lock', 'add', '--group', 'web');
    expect(added).toMatchObject({ code: 0, err: expect.stringContaining('Shown once') });
    const [, id, secret] = /^([0-9a-f-]{36}):(tgf_[\w-]{43})$/.exec(added.out) ?? [];
    if (id === undefined || secret === undefined) throw new Error(added.out);
    expect((await it.reboots('fleet-lock', 'list')).out).toMatch(new RegExp(`${id} +web +2026-.* +cli`));
    const listed = await it.reboots('fleet-lock', 'list', '--json');
    expect(JSON.parse(listed.out)).toMatchObject({ items: [{ id, group: 'web', created_by: 'cli' }] });
    expect(listed.out).not.toContain(secret);
    expect((await it.reboots('fleet-lock', 'revoke', id)).out).toContain('Revoked.');
    expect(JSON.parse((await it.reboots('fleet-lock', 'list', '--json')).out)).toEqual({ items: [] });
    expect((await it.reboots('fleet-lock', 'revoke', id)).err).toContain(`no FleetLock token "${id}"`);
    const made = JSON.parse((await it.reboots('fleet-lock', 'add', '--group', 'web', '--json')).out);
    expect(made).toEqual({ id: made.user, group: 'web', user: made.user, password: made.password });
  });

  test.each<[string, string]>([
    ['fleet-lock', 'needs one of: add, list, revoke'],
    ['fleet-lock add', 'needs --group GROUP'],
    ['fleet-lock revoke', 'needs an ID'],
    ['fleet-lock list --group web', '--group works only with fleet-lock add'],
    ['fleet-lock list x', 'unknown words: x'],
    ['', 'needs one of: list, show'],
    ['show', 'show needs an ID'],
    ['list x', 'unknown words: x'],
    ['slots --reason a', '--reason does not work with slots'],
    ['release x --at-once 1', '--at-once does not work with release'],
  ])('%s says what is allowed', async (words, message) => {
    const it = await open();
    const ran = await it.reboots(...words.split(' ').filter(Boolean));
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });

  test.each<[string, string]>([
    ['ask --reason a', 'ask needs --until TIME'],
    ['ask --until 2026-11-22T09:00:00Z', 'ask needs --reason TEXT'],
    ['ask --until 2026-11-20T09:00:00Z --reason a', '/deadline'],
    ['ask --until 2026-11-22T09:00:00Z --reason a --warn 61', '/warn_minutes'],
    ['ask --until 2026-11-22T09:00:00Z --reason a --host web9', 'there is no host "web9"'],
    ['limit --group web', 'limit needs --at-once N'],
    ['limit --at-once 0', '/max_at_once'],
    ['cancel x', 'there is no reboot "x"'],
    ['release x --reason a', 'no host that failed has the slot "x"'],
    ['fleet-lock add --group my_group', 'letters, digits, dots and hyphens'],
    ['list --state gone', 'there is no state gone'],
  ])('%s is refused', async (words, message) => {
    const it = await open();
    expect(await it.reboots(...words.split(' '))).toMatchObject({
      ...{ code: 1, err: expect.stringContaining(message) },
    });
  });
});
