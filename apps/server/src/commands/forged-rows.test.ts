import { describe, expect, test } from 'vitest';
import { insertTestAgent, insertTestUpdate, type TestUpdate } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestKeyRing } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { writeRaw } from '../testing/write-raw.ts';
import { deliverCommands } from './deliver-commands.ts';
import { COMMAND_LIFETIME_MS, queueCommand } from './queue-command.ts';
import { findCommand, insertCommands } from './store.ts';

/** Rows that an attacker writes who has the database but no key (T6). */
interface Forgery {
  what: string;
  update?: Partial<TestUpdate>;
  row?: Record<string, string | number | null>;
  check: string;
}

const OTHER = '01900000-0000-7000-8000-00000000beef';
const UPDATE = {
  update_id: '01900000-0000-7000-a000-000000000001',
  ...{ name: 'package-1', from_version: '1.0-1', to_version: '1.1-1' },
};
const stranger = createTestKeyRing();

const FORGERIES: Forgery[] = [
  {
    what: 'an approval that nobody signed',
    update: { keyRing: undefined },
    check: 'approval_not_signed',
  },
  { what: 'an approval signed by a stranger', update: { keyRing: stranger }, check: 'approval_not_signed' },
  {
    what: 'an approval of another fleet',
    update: { signed: { fleet_id: OTHER } },
    check: 'approval_for_another_fleet',
  },
  {
    what: 'an approval of another agent',
    update: { signed: { agent_id: OTHER } },
    check: 'approval_for_another_agent',
  },
  {
    what: 'an approval of another update',
    update: { signed: { updates: [{ ...UPDATE, update_id: OTHER }] } },
    check: 'approval_for_other_updates',
  },
  {
    what: 'an approval of one update more',
    update: { signed: { updates: [UPDATE, { ...UPDATE, update_id: OTHER }] } },
    check: 'approval_for_other_updates',
  },
  {
    what: 'a different token under the id',
    update: { signed: { token_id: OTHER } },
    check: 'approval_not_the_referenced_one',
  },
  {
    what: 'an approval whose signed time has expired, beside a column that says otherwise',
    update: { signed: { expires_at: '2026-11-21T09:00:00Z' } },
    check: 'approval_expired',
  },
  {
    what: 'another digest',
    row: { approval_sha256: 'f'.repeat(64) },
    check: 'approval_not_the_referenced_one',
  },
  {
    what: 'parameters that name a different update',
    row: { params: JSON.stringify({ update_ids: [OTHER] }) },
    check: 'approval_for_other_updates',
  },
  {
    what: 'a lifetime above that of every command',
    row: { expires_at: Date.UTC(2099, 0) },
    check: 'not_valid',
  },
  {
    what: 'an action that does not exist, with an approval',
    row: { action: 'shell' },
    check: 'approval_for_other_updates',
  },
  { what: 'an action that does not exist', row: plain('shell', {}), check: 'not_valid' },
  { what: 'a scan with extra parameters', row: plain('scan', { shell: 'rm' }), check: 'not_valid' },
  { what: 'parameters that are not JSON', row: { ...plain('scan', {}), params: '{' }, check: 'not_valid' },
  {
    what: 'a polling interval of a year',
    row: plain('set_polling', { interval_seconds: 31_536_000 }),
    check: 'not_valid',
  },
  {
    what: 'keys to fetch from a different address',
    row: plain('refresh_keys', { url: 'http://evil' }),
    check: 'not_valid',
  },
  {
    what: 'a plan of an unknown ecosystem',
    row: plain('plan_update', { update_id: OTHER, ecosystem: 'gem', name: 'a', to_version: '1' }),
    check: 'not_valid',
  },
  { what: 'a reboot with a script', row: plain('reboot', { script: 'x' }), check: 'not_valid' },
];

function plain(action: string, params: object) {
  const none = { approval_id: null, approval_sha256: null };
  return { ...none, action, params: JSON.stringify(params) };
}

describe.each(ENGINES)('rows put into the database by hand, on $name', (engine) => {
  async function setUp({ update = {}, row = {} }: Partial<Forgery> = {}) {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const keyRing = createTestKeyRing();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const expiresAtMs = platform.now() + 7 * COMMAND_LIFETIME_MS;
    const install = await insertTestUpdate(database, {
      ...{ agentId, n: 1, state: 'approved', expiresAtMs, keyRing },
      ...update,
    });
    const id = platform.newId();
    await database.transact((tx) =>
      insertCommands(tx, [
        {
          row: {
            id,
            agent_id: agentId,
            action: 'install_update',
            params: JSON.stringify(install.params),
            approval_id: install.approval.tokenId,
            approval_sha256: install.approval.sha256,
            status: 'pending',
            created_by: 'mallory',
            created_at: platform.now(),
            not_before: platform.now(),
            expires_at: platform.now() + COMMAND_LIFETIME_MS,
            ...row,
          },
          updateIds: [install.updateId],
        },
      ]),
    );
    const deliver = () =>
      database.transact((tx) =>
        deliverCommands(tx, platform, keyRing, { agentId, machineId: 'machine-1', received: [] }),
      );
    const events = () =>
      database.read.selectFrom('events').selectAll().where('type', '=', 'COMMAND_REFUSED').execute();
    return { database, platform, keyRing, agentId, install, id, deliver, events };
  }

  test('T6: commands that this server wrote are signed', async () => {
    const { deliver, events } = await setUp();
    expect((await deliver()).length).toBe(1);
    expect(await events()).toEqual([]);
  });

  test.each(FORGERIES)('T6: $what is never signed, and is critical', async (forgery) => {
    const { database, agentId, keyRing, id, deliver, events } = await setUp(forgery);
    keyRing.signatures = 0;
    expect(await deliver()).toEqual([]);
    expect(keyRing.signatures).toBe(0);
    expect(await findCommand(database.read, id)).toMatchObject({
      status: 'cancelled',
      reason: forgery.check,
      seq: null,
      envelope: null,
    });
    const [event, ...rest] = await events();
    expect(rest).toEqual([]);
    const agent = await database.read.selectFrom('agents').select('next_seq').executeTakeFirst();
    expect(agent).toEqual({ next_seq: 1 });
    expect(event).toMatchObject({
      kind: 'security',
      severity: 'critical',
      component: 'commands',
      agent_id: agentId,
      actor: 'server',
    });
    expect(JSON.parse(event?.content ?? '')).toMatchObject({ command_id: id, check: forgery.check });
    expect(await deliver()).toEqual([]);
    expect((await events()).length).toBe(1);
  });

  test.each(['install_update', 'update_agent'])(
    'A4: %s without any approval is withdrawn',
    async (action) => {
      const row = { action, approval_id: null, approval_sha256: null };
      const { database, id, deliver } = await setUp({ row });
      expect(await deliver()).toEqual([]);
      expect(await findCommand(database.read, id)).toMatchObject({
        status: 'cancelled',
        reason: 'approval_gone',
      });
    },
  );

  test.each([
    ['reboot', { boot_id: 'boot-1', warn_minutes: 0, cause: 'kernel' }],
    ['scan', {}],
    ['set_polling', { interval_seconds: 60 }],
  ])('T6: a valid %s that this server did not write is never signed', async (action, params) => {
    const { database, platform, keyRing, agentId, deliver, events } = await setUp();
    await database.transact((tx) => tx.deleteFrom('command_updates').execute());
    await database.transact((tx) => tx.deleteFrom('agent_commands').execute());
    const id = platform.newId();
    const [nowMs, expires_at] = [platform.now(), platform.now() + COMMAND_LIFETIME_MS];
    await writeRaw(database, 'agent_commands', {
      ...{ id, agent_id: agentId, action, params: JSON.stringify(params), status: 'pending' },
      ...{ created_by: 'ada', created_at: nowMs, not_before: nowMs, expires_at },
    });
    keyRing.signatures = 0;
    expect(await deliver()).toEqual([]);
    expect(keyRing.signatures).toBe(0);
    expect(await findCommand(database.read, id)).toMatchObject({ status: 'cancelled', reason: 'not_sealed' });
    expect(await events()).toMatchObject([{ severity: 'critical', agent_id: agentId }]);
  });

  test('T6: a command moved to another host, or repeated, is never signed', async () => {
    const { database, id, deliver } = await setUp();
    expect((await deliver()).length).toBe(1);
    const again = { status: 'pending', seq: null, envelope: null, not_before: 1, changed_at: null } as const;
    await database.transact((tx) =>
      tx.updateTable('agent_commands').set(again).where('id', '=', id).execute(),
    );
    expect(await deliver()).toEqual([]);
    expect(await findCommand(database.read, id)).toMatchObject({ reason: 'not_sealed' });
  });

  test('an update that a forged approval had moved returns to the operators', async () => {
    const { database, install, deliver } = await setUp({ update: { keyRing: stranger } });
    await deliver();
    const update = await database.read
      .selectFrom('updates')
      .select(['state', 'state_reason', 'approval_id'])
      .where('id', '=', install.updateId)
      .executeTakeFirst();
    expect(update).toEqual({ state: 'pending', state_reason: 'approval_not_signed', approval_id: null });
  });

  test('a forged row among others does not delay them', async () => {
    const { database, platform, agentId, deliver } = await setUp({ row: plain('shell', {}) });
    await database.transact((tx) =>
      queueCommand(tx, platform, { agentId, action: 'scan', params: {}, createdBy: 'ada' }),
    );
    expect((await deliver()).length).toBe(1);
  });

  test('the key that signed the approval was revoked: withdrawn, without a security event', async () => {
    const { database, keyRing, id, deliver, events } = await setUp();
    keyRing.rotate();
    expect(await deliver()).toEqual([]);
    expect(await findCommand(database.read, id)).toMatchObject({
      status: 'cancelled',
      reason: 'approval_gone',
    });
    expect(await events()).toEqual([]);
  });
});
