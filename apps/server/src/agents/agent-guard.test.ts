import { describe, expect, test } from 'vitest';
import {
  type AgentsApp,
  call,
  createAgentsApp,
  type EnrolledAgent,
  enrol,
  eventTypes,
} from '../testing/agents-app.ts';
import { ENGINES } from '../testing/engines.ts';

const perMinute = (requests: number) => ({ requests, windowSeconds: 60, enabled: true });

/** A valid request of an agent, unless overridden. */
function ask(
  it: AgentsApp,
  agent: EnrolledAgent,
  given: { token?: string; machineId?: string | undefined; agentId?: string; path?: string } = {},
) {
  const { token = agent.access_token, agentId = agent.agent_id, path = 'events' } = given;
  const machineId = 'machineId' in given ? given.machineId : agent.machineId;
  return call(it, 'POST', `/api/v1/agents/${agentId}/${path}`, { token, machineId });
}

function rebind(it: AgentsApp, agent: EnrolledAgent) {
  const url = `/api/admin/agents/${agent.agent_id}/rebind-machine-id`;
  return call(it, 'POST', url, { token: 'admin', body: { reason: 'moved' } });
}

describe.each(ENGINES)('the guard of agent requests on $name', (engine) => {
  test('a bound agent passes, and the handler gets its identity', async () => {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it);
    const { status, body } = await ask(it, agent);
    expect(status).toBe(200);
    expect(body).toMatchObject({ agentId: agent.agent_id, machineId: 'machine-1', bound: true });
  });

  test('no token is unauthenticated; any other token is access_token_invalid', async () => {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it);
    const url = `/api/v1/agents/${agent.agent_id}/events`;
    const without = await call(it, 'POST', url, { machineId: 'machine-1' });
    expect([without.status, without.code]).toEqual([401, 'unauthenticated']);
    expect(without.headers['www-authenticate']).toBe('Bearer');
    for (const token of ['x', 'admin', agent.refresh_token, `${agent.access_token}x`]) {
      expect((await ask(it, agent, { token })).code).toBe('access_token_invalid');
    }
    it.platform.clock.advance(900_000);
    expect((await ask(it, agent)).code).toBe('access_token_expired');
  });

  test('another machine or none is 403 unauthorized, with its event and its log line each time (section 6)', async () => {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it);
    for (const machineId of ['machine-2', undefined, 'two words', 'x'.repeat(129)]) {
      const answer = await ask(it, agent, { machineId });
      expect([answer.status, answer.code]).toEqual([403, 'unauthorized']);
    }
    expect(await eventTypes(it)).toEqual(['AGENT_ENROLLED', ...Array(4).fill('MACHINE_ID_MISMATCH')]);
    const lines = it.platform.lines.filter((l) =>
      l.startsWith('[WARN] [server] [middleware] machine_id_mismatch '),
    );
    expect(lines).toHaveLength(4);
    const { read } = it.platform.database;
    const row = await read
      .selectFrom('events')
      .selectAll()
      .where('type', '=', 'MACHINE_ID_MISMATCH')
      .orderBy('position')
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({ kind: 'security', agent_id: agent.agent_id, component: 'agents' });
    expect(JSON.parse(row.content)).toEqual({
      endpoint: 'POST /api/v1/agents/:agent_id/events',
      recorded_machine_id: 'machine-1',
      reported_machine_id: 'machine-2',
    });
    expect((await ask(it, agent)).status).toBe(200);
  });

  test('a clone is bounded by the limit, which is checked first: no event beyond it', async () => {
    const it = createAgentsApp(await engine.open(), { budgets: { agent_reports: perMinute(3) } });
    const agent = await enrol(it);
    const other = await enrol(it, 'machine-2');
    const statuses = [];
    for (let i = 0; i < 6; i++) statuses.push((await ask(it, agent, { machineId: 'clone' })).status);
    expect(statuses).toEqual([403, 403, 403, 429, 429, 429]);
    expect((await eventTypes(it)).filter((type) => type === 'MACHINE_ID_MISMATCH')).toHaveLength(3);
    expect((await ask(it, other)).status).toBe(200);
    it.platform.clock.advance(60_000);
    expect((await ask(it, agent)).status).toBe(200);
  });

  test('invariant 11: tokens of a revoked or deleted agent are refused at their next request', async () => {
    const it = createAgentsApp(await engine.open());
    const [one, two] = [await enrol(it, 'machine-1'), await enrol(it, 'machine-2')];
    expect([(await ask(it, one)).status, (await ask(it, two)).status]).toEqual([200, 200]);
    await call(it, 'POST', `/api/v1/agents/${one.agent_id}/revoke`, { token: 'admin' });
    await call(it, 'DELETE', `/api/v1/agents/${two.agent_id}`, { token: 'admin' });
    for (const agent of [one, two]) {
      for (const machineId of [agent.machineId, 'elsewhere']) {
        expect((await ask(it, agent, { machineId })).code).toBe('access_token_invalid');
      }
    }
    expect(await eventTypes(it)).not.toContain('MACHINE_ID_MISMATCH');
  });

  test('an agent reaches only its own rows: the path of another one is 404', async () => {
    const it = createAgentsApp(await engine.open());
    const [one, two] = [await enrol(it, 'machine-1'), await enrol(it, 'machine-2')];
    expect((await ask(it, one, { agentId: two.agent_id })).code).toBe('not_found');
    expect((await ask(it, one, { agentId: 'x' })).code).toBe('not_found');
    expect((await ask(it, one, { agentId: two.agent_id, machineId: 'machine-2' })).code).toBe('unauthorized');
  });

  test('after a rebind only a check-in binds; other requests get 409 binding_pending (section 3)', async () => {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it);
    await rebind(it, agent);
    expect((await ask(it, agent, { machineId: 'machine-9' })).code).toBe('binding_pending');
    expect((await ask(it, agent, { machineId: undefined })).code).toBe('unauthorized');
    const bound = await ask(it, agent, { machineId: 'machine-9', path: 'check-in' });
    expect(bound.body).toEqual({ bound: 'bound' });
    expect((await ask(it, agent, { machineId: 'machine-9' })).status).toBe(200);
    expect((await ask(it, agent)).code).toBe('unauthorized');
    expect(await eventTypes(it)).toEqual([
      'AGENT_ENROLLED',
      'MACHINE_REBOUND',
      'MACHINE_ID_MISMATCH',
      'MACHINE_BOUND',
      'MACHINE_ID_MISMATCH',
    ]);
  });

  test('20 check-ins at once bind one machine, once; nobody gets the machine of another agent', async () => {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it);
    await enrol(it, 'machine-taken');
    await rebind(it, agent);
    expect((await ask(it, agent, { machineId: 'machine-taken', path: 'check-in' })).body.bound).toBe(
      'foreign_machine',
    );
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => ask(it, agent, { machineId: `new-${n}`, path: 'check-in' })),
    );
    expect(answers.filter((a) => a.body.bound === 'bound')).toHaveLength(1);
    expect((await eventTypes(it)).filter((type) => type === 'MACHINE_BOUND')).toHaveLength(1);
  });

  test('eight unbound agents and one machine at once: one of them is bound to it', async () => {
    const it = createAgentsApp(await engine.open());
    const agents = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => enrol(it, `machine-${n}`)));
    for (const agent of agents) await rebind(it, agent);
    const answers = await Promise.all(agents.map((a) => ask(it, a, { machineId: 'new', path: 'check-in' })));
    expect(answers.map((a) => a.body.bound).sort()).toEqual(['bound', ...Array(7).fill('foreign_machine')]);
  });

  test('an agent below the minimum version gets 426, except at check-in (docs/protocol.md)', async () => {
    const database = await engine.open();
    const it = createAgentsApp(database, { minAgentVersion: '1.0.0' });
    const agent = await enrol(it);
    // Enrolled before the minimum was raised.
    await database.transact((tx) => tx.updateTable('agents').set({ agent_version: '0.9.0' }).execute());
    const answer = await ask(it, agent);
    expect([answer.status, answer.code]).toEqual([426, 'agent_too_old']);
    expect((await ask(it, agent, { path: 'check-in' })).status).toBe(200);
  });
});
