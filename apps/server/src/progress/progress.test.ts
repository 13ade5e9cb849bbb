import type { Progress } from '@tidegate/protocol/progress-api';
import { describe, expect, test } from 'vitest';
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
    const set = (id: string, values: { status: string; seq?: number }) =>
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
        ...{ until: '2026-12-01T00:00:00.000Z', id: holdId },
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
      { kind: 'other_command', text: 'another command of the host to end (scan)', until: null, id: other },
    ]);
    expect((await it.read(`agents/${it.agentId}`)).command?.id).toBe(other);
    await it.set(other, { status: 'success' });
    expect(await it.waits(`commands/${id}`)).toEqual(['start']);
    await it.set(id, { status: 'failed' });
    expect(await it.waits(`commands/${id}`)).toEqual([]);
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
        ...{ until: null, id: rollout },
      },
    ]);
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
