import type { Progress } from '@tidegate/protocol/progress-api';
import type { RestartReport } from '@tidegate/protocol/restarts';
import { describe, expect, test } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { BLACKOUT, HOLD } from '../testing/standing.ts';
import { writeRaw } from '../testing/write-raw.ts';

const NOW_BLACKOUT = {
  ...BLACKOUT,
  times: { kind: 'once', starts_at: '2026-11-21T08:00:00Z', ends_at: '2026-11-21T12:00:00Z' },
};

describe.each(ENGINES)('where something stands, on $name,', (engine) => {
  async function scene() {
    const it = await createApprovalsApp(engine);
    await writeRaw(it.database, 'agent_presence', {
      agent_id: it.agentId,
      last_seen_at: it.platform.now(),
    });
    const read = async (url: string): Promise<Progress> => {
      const { status, body } = await it.call('GET', `/api/v1/${url}/progress`);
      expect(status, JSON.stringify(body)).toBe(200);
      return body;
    };
    const waits = async (url: string) => (await read(url)).waits.map(({ kind }) => kind);
    const post = async (url: string, body: object) => {
      const answer = await it.call('POST', url, body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      return answer.body;
    };
    const approved = async () => {
      const id = await it.addUpdate();
      expect((await it.approve(id)).status).toBe(200);
      return id;
    };
    const set = (
      id: string,
      values: { status: string; seq?: number; started_at?: number; installing_at?: number },
    ) =>
      it.database.transact((tx) =>
        tx.updateTable('agent_commands').set(values).where('id', '=', id).execute(),
      );
    return { ...it, read, waits, post, approved, set };
  }

  test('an update waits for an approval, and while it is held for the end of the hold', async () => {
    const it = await scene();
    const id = await it.addUpdate();
    expect(await it.read(`updates/${id}`)).toMatchObject({ command: null, waits: [{ kind: 'decision' }] });
    const { id: holdId } = await it.post('/api/v1/holds', HOLD);
    expect((await it.read(`updates/${id}`)).waits).toEqual([
      {
        ...{ kind: 'hold', text: 'the end of a hold on openssl (The appliance needs this one.)' },
        ...{ until: '2026-12-01T00:00:00.000Z', since: null, id: holdId },
      },
    ]);
    expect(await it.waits(`updates/${await it.addUpdate({ name: 'curl' })}`)).toEqual(['decision']);
  });

  test('an approved update has its command, which waits for a blackout and then for the host', async () => {
    const it = await scene();
    const id = await it.approved();
    const { command, waits } = await it.read(`updates/${id}`);
    expect(command).toMatchObject({ action: 'install_update', packages: { total: 1 } });
    expect(waits.map(({ kind }) => kind)).toEqual(['check_in']);
    await it.post('/api/v1/blackouts', NOW_BLACKOUT);
    const url = `commands/${command?.id}`;
    expect(await it.read(url)).toMatchObject({
      waits: [{ kind: 'blackout', until: '2026-11-21T12:00:00.000Z' }],
    });
    it.clock.advance(600_000);
    expect(await it.waits(url)).toEqual(['blackout', 'host_offline']);
    expect(await it.waits(`agents/${it.agentId}`)).toEqual(['blackout', 'host_offline']);
  });

  test('a command that the host has waits for the one that it works on', async () => {
    const it = await scene();
    const { command } = await it.read(`updates/${await it.approved()}`);
    const id = command?.id ?? '';
    const other = '01900000-0000-7000-a000-000000000001';
    await writeRaw(it.database, 'agent_commands', {
      ...{ id: other, agent_id: it.agentId, action: 'scan', params: '{}', status: 'running', seq: 1 },
      ...{ created_by: 'ada', created_at: 1, not_before: 1, expires_at: 99 },
    });
    await it.set(id, { status: 'received', seq: 2 });
    expect((await it.read(`commands/${id}`)).waits).toEqual([
      {
        ...{ kind: 'other_command', text: 'another command of the host to end (scan)' },
        ...{ until: null, since: null, id: other },
      },
    ]);
    expect((await it.read(`agents/${it.agentId}`)).command?.id).toBe(other);
    await it.set(other, { status: 'success' });
    expect(await it.waits(`commands/${id}`)).toEqual(['start']);
    await it.set(id, { status: 'failed' });
    expect(await it.waits(`commands/${id}`)).toEqual([]);
  });

  test('an installation waits for the download, and then for the packages to be installed', async () => {
    const it = await scene();
    const id = await it.approved();
    const { command } = await it.read(`updates/${id}`);
    const commandId = command?.id ?? '';
    const startedAt = it.platform.now();
    await it.set(commandId, { status: 'running', started_at: startedAt });
    const runs = (agent_version: string) =>
      it.database.transact((tx) =>
        tx.updateTable('agents').set({ agent_version }).where('id', '=', it.agentId).execute(),
      );
    await runs('0.1.0');
    // It says nothing more until the end.
    expect((await it.read(`updates/${id}`)).waits).toMatchObject([
      { kind: 'end', since: rfc3339(startedAt) },
    ]);
    await runs('0.2.0');
    for (const url of [`updates/${id}`, `commands/${commandId}`, `agents/${it.agentId}`]) {
      expect((await it.read(url)).waits).toEqual([
        {
          ...{ kind: 'download', text: 'the host to download the packages', id: null },
          ...{ until: null, since: rfc3339(startedAt) },
        },
      ]);
    }
    await it.set(commandId, { status: 'running', installing_at: startedAt + 1_000 });
    expect(await it.read(`updates/${id}`)).toMatchObject({
      command: { started_at: rfc3339(startedAt), installing_at: rfc3339(startedAt + 1_000) },
      waits: [{ kind: 'installation', since: rfc3339(startedAt + 1_000) }],
    });
  });

  test('an update that a rollout carries waits for the ring of its host', async () => {
    const it = await scene();
    const id = await it.addUpdate();
    const rollout = '01900000-0000-7000-b000-000000000001';
    await writeRaw(it.database, 'rollouts', {
      ...{ id: rollout, policy_id: 'p', policy_sha256: 's', members_sha256: 'm', lane: 'wave' },
      ...{ state: 'running', ring: 0, entered: '[1]', started_at: 1, withdrawn: 0 },
    });
    const named = { ecosystem: 'apt', name: 'openssl', version: '3.0.12-1', hosts: 1 };
    await writeRaw(it.database, 'rollout_packages', { rollout_id: rollout, ...named });
    await writeRaw(it.database, 'rollout_hosts', {
      ...{ rollout_id: rollout, agent_id: it.agentId, ring: 1, late: 0, outcome: 'waiting' },
    });
    expect((await it.read(`updates/${id}`)).waits).toEqual([
      {
        ...{ kind: 'ring', text: 'ring 2 of its rollout, which is in ring 1' },
        ...{ until: null, since: null, id: rollout },
      },
    ]);
  });

  test('an approval waits for a second signature where the host has refused one without it', async () => {
    const it = await scene();
    const id = await it.approved();
    const url = `updates/${id}`;
    expect(await it.waits(url)).toEqual(['check_in']);
    const ended = {
      ...{ agent_id: it.agentId, action: 'install_update', params: '{}', created_by: 'ada' },
      ...{ not_before: 1, expires_at: 99 },
    };
    await writeRaw(it.database, 'agent_commands', {
      ...{ ...ended, id: '01900000-0000-7000-a000-000000000001', status: 'refused', created_at: 1 },
      reason: 'host_policy (second_signature_missing): the approval needs signatures by 1 of the 1 key(s)',
    });
    const expected = { kind: 'second_signature', id, until: null };
    expect((await it.read(url)).waits).toMatchObject([expected]);
    const { command } = await it.read(url);
    expect((await it.read(`commands/${command?.id}`)).waits).toMatchObject([expected]);
    const approval = await it.database.read
      .selectFrom('approvals')
      .select(['token_id', 'envelope'])
      .executeTakeFirstOrThrow();
    await writeRaw(it.database, 'agent_commands', {
      ...{ ...ended, id: '01900000-0000-7000-a000-000000000002', status: 'success', created_at: 2 },
      approval_id: approval.token_id,
    });
    // It has accepted one since: its policy was changed.
    expect(await it.waits(url)).toEqual(['check_in']);
    await it.database.transact((tx) =>
      tx
        .updateTable('agent_commands')
        .set({ created_at: 0 })
        .where('id', '=', '01900000-0000-7000-a000-000000000002')
        .execute(),
    );
    expect(await it.waits(url)).toEqual(['second_signature']);
    const signature = { keyid: 'ops', sig: `${'A'.repeat(86)}==` };
    expect((await it.call('POST', `/api/v1/updates/${id}/countersign`, signature)).status).toBe(200);
    expect(await it.waits(url)).toEqual(['check_in']);
  });

  test('a reboot waits for a slot of its group, and names who has them', async () => {
    const it = await scene();
    const id = '01900000-0000-7000-a000-000000000001';
    await writeRaw(it.database, 'agent_commands', {
      ...{ id, agent_id: it.agentId, action: 'reboot', params: '{}', status: 'pending' },
      ...{ created_by: 'ada', created_at: 1, not_before: 1, expires_at: it.platform.now() + 1e9 },
    });
    expect(await it.waits(`commands/${id}`)).toEqual(['check_in']);
    const { agentId: other } = await insertTestAgent(it.database, { n: 2 });
    const slot = {
      ...{ group_name: '', agent_id: other, command_id: 'c', boot_id: 'b', state: 'held' },
      ...{ taken_at: 1, ends_at: 2 },
    };
    await writeRaw(it.database, 'reboot_slots', { ...slot, id: 's1' });
    const { hostname } = await it.database.read
      .selectFrom('agents')
      .select('hostname')
      .where('id', '=', other)
      .executeTakeFirstOrThrow();
    const taken = { kind: 'reboot', text: `a reboot slot: 1 of 1 taken by ${hostname}` };
    expect((await it.read(`commands/${id}`)).waits).toMatchObject([taken]);

    // The same after an installation whose host is in the queue of reboots.
    await it.set(id, { status: 'cancelled' });
    await writeRaw(it.database, 'host_reboots', {
      ...{ id: '01900000-0000-7000-b000-000000000001', agent_id: it.agentId, kind: 'reboot', boot_id: 'b' },
      ...{
        warn_minutes: 5,
        reason: 'New kernel',
        asked_by: 'ada',
        asked_at: 1,
        deadline_at: it.platform.now() + 1e9,
      },
      ...{ state: 'queued', not_before: 1, attempts: 0 },
    });
    const report: RestartReport = {
      ...{ observed_at: '2026-11-21T09:00:00Z', boot_id: 'boot-1' },
      services: { need: 'not_needed', stale: [], more_services: 0 },
      reboot: { need: 'needed', evidence: ['newer_kernel'], packages: [], livepatch: 'inactive' },
    };
    await it.database.transact(async (tx) => {
      await tx.updateTable('agents').set({ boot_id: 'boot-1' }).where('id', '=', it.agentId).execute();
      await tx
        .insertInto('agent_restarts')
        .values({
          ...{ agent_id: it.agentId, boot_id: 'boot-1', services: 'not_needed', reboot: 'needed' },
          ...{ restartable: 0, report: '{}', received_at: 1 },
        })
        .execute();
    });
    const installed = '01900000-0000-7000-a000-000000000002';
    await writeRaw(it.database, 'agent_commands', {
      ...{ id: installed, agent_id: it.agentId, action: 'install_update', params: '{}', status: 'success' },
      ...{
        created_by: 'ada',
        created_at: 2,
        not_before: 1,
        expires_at: 99,
        restarts: JSON.stringify(report),
      },
    });
    expect((await it.read(`commands/${installed}`)).waits).toMatchObject([taken, { kind: 'restart' }]);
  });

  test('a host without commands has none, and what does not exist is not found', async () => {
    const it = await scene();
    const { agentId: other } = await insertTestAgent(it.database, { n: 2 });
    expect(await it.read(`agents/${other}`)).toMatchObject({ command: null, waits: [] });
    const nobody = '01900000-0000-7000-8000-0000000000ff';
    for (const url of ['agents', 'updates', 'commands']) {
      expect((await it.call('GET', `/api/v1/${url}/${nobody}/progress`)).status).toBe(404);
    }
  });
});
