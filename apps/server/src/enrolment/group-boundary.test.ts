import { describe, expect, test } from 'vitest';
import { type AgentsApp, call, createAgentsApp, HOST } from '../testing/agents-app.ts';
import { ENGINES } from '../testing/engines.ts';

const TOKENS = '/api/v1/admin/registration-tokens';

async function tokenOf(it: AgentsApp, group: string | null) {
  const body = { label: 'x', seats: 5, group };
  return (await call(it, 'POST', TOKENS, { token: 'admin', body })).body;
}

async function register(it: AgentsApp, group: string | null, machineId = 'machine-1') {
  const made = await tokenOf(it, group);
  const answer = await call(it, 'POST', '/api/v1/agents/register', {
    ...{ token: made.token, machineId, body: { ...HOST, hostname: 'taken' } },
  });
  const { seats_used } = (await call(it, 'GET', `${TOKENS}/${made.id}`, { token: 'admin' })).body;
  return { ...answer, tokenId: made.id, seatsUsed: seats_used };
}

const agentOf = async (it: AgentsApp, id: string) =>
  (await call(it, 'GET', `/api/v1/agents/${id}`, { token: 'admin' })).body;

async function end(it: AgentsApp, id: string, how: 'revoked' | 'deleted' | 'live') {
  if (how === 'live') return;
  const [method, path] = how === 'deleted' ? (['DELETE', ''] as const) : (['POST', '/revoke'] as const);
  await call(it, method, `/api/v1/agents/${id}${path}`, { token: 'admin' });
}

async function refusals(it: AgentsApp) {
  const { read } = it.platform.database;
  const rows = await read
    .selectFrom('events')
    .select(['agent_id', 'actor', 'severity', 'content'])
    .where('type', '=', 'ENROLMENT_REFUSED')
    .execute();
  return rows.map((row) => ({ ...row, content: JSON.parse(row.content) }));
}

describe.each(ENGINES)('the groups of a registration token on $name', (engine) => {
  test.each([
    ['lab', 'prod', 'revoked'],
    ['lab', null, 'revoked'],
    // Another group's token must not learn whether the credentials are live.
    ['lab', 'prod', 'live'],
    ['Prod', 'prod', 'revoked'],
  ] as const)(
    'a token of %j cannot enrol a machine of %j (%s): 409, an event, no seat',
    async (token, host, how) => {
      const it = createAgentsApp(await engine.open());
      const { body } = await register(it, host);
      await end(it, body.agent_id, how);
      const before = await agentOf(it, body.agent_id);
      const refused = await register(it, token);
      expect([refused.status, refused.code]).toEqual([409, 'machine_in_another_group']);
      expect(refused.seatsUsed).toBe(0);
      expect(await agentOf(it, body.agent_id)).toEqual(before);
      expect(await refusals(it)).toEqual([
        {
          ...{ agent_id: body.agent_id, actor: 'agent', severity: 'warning' },
          content: {
            ...{ reason: 'machine_in_another_group', machine_id: 'machine-1', hostname: 'taken' },
            ...{ host_group: host, token_group: token, registration_token_id: refused.tokenId },
          },
        },
      ]);
    },
  );

  test('the refusal names neither the group nor the agent to the caller', async () => {
    const it = createAgentsApp(await engine.open());
    const { body } = await register(it, 'prod-eu');
    await end(it, body.agent_id, 'revoked');
    const refused = JSON.stringify(await register(it, 'lab').then(({ body, headers }) => [body, headers]));
    for (const secret of ['prod-eu', body.agent_id, 'lab']) expect(refused).not.toContain(secret);
  });

  test.each([
    ['prod', 'prod', 'prod'],
    [null, 'prod', 'prod'],
    [null, null, null],
  ])('a token of %j enrols a revoked machine of %j, which is then of %j', async (token, host, after) => {
    const it = createAgentsApp(await engine.open());
    const { body } = await register(it, host);
    await end(it, body.agent_id, 'revoked');
    const again = await register(it, token);
    expect([again.status, again.body.agent_id, again.seatsUsed]).toEqual([201, body.agent_id, 1]);
    expect((await agentOf(it, body.agent_id)).group).toBe(after);
    expect(await refusals(it)).toEqual([]);
  });

  test('the machine of a deleted host is a new host in the group of the token', async () => {
    const it = createAgentsApp(await engine.open());
    const { body } = await register(it, 'prod');
    await end(it, body.agent_id, 'deleted');
    const again = await register(it, 'lab');
    expect(again.status).toBe(201);
    expect(again.body.agent_id).not.toBe(body.agent_id);
    expect((await agentOf(it, again.body.agent_id)).group).toBe('lab');
  });

  test('a new host gets the tags of its token; one that enrols again keeps its own', async () => {
    const it = createAgentsApp(await engine.open());
    const enrol = async (tags: string[]) => {
      const { token } = (await call(it, 'POST', TOKENS, { token: 'admin', body: { label: 'x', tags } })).body;
      const asked = { token, machineId: 'machine-1', body: HOST };
      return (await call(it, 'POST', '/api/v1/agents/register', asked)).body.agent_id;
    };
    const id = await enrol(['role=db', 'env=prod']);
    expect((await agentOf(it, id)).tags).toEqual(['env=prod', 'role=db']);
    const change = { agent_ids: [id], set: ['hold=kernel'], remove: ['role'] };
    await call(it, 'POST', '/api/v1/agents/tags', { token: 'admin', body: change });
    await end(it, id, 'revoked');
    expect(await enrol(['hold=none', 'env=test'])).toBe(id);
    expect((await agentOf(it, id)).tags).toEqual(['env=prod', 'hold=kernel']);
    await end(it, id, 'deleted');
    expect((await agentOf(it, await enrol(['env=test']))).tags).toEqual(['env=test']);
  });

  test.each([[['host.role=db']], [['env=a', 'env=b']], [['env']]])(
    'a token cannot carry %j',
    async (tags) => {
      const it = createAgentsApp(await engine.open());
      const made = await call(it, 'POST', TOKENS, { token: 'admin', body: { label: 'x', tags } });
      expect(made.status).toBe(400);
    },
  );

  test('a moved host belongs to its new group: a token of the old one cannot enrol it', async () => {
    const it = createAgentsApp(await engine.open());
    const { body } = await register(it, 'lab');
    const moved = { agent_ids: [body.agent_id], group: 'prod' };
    expect((await call(it, 'POST', '/api/v1/agents/group', { token: 'admin', body: moved })).status).toBe(
      200,
    );
    await end(it, body.agent_id, 'revoked');
    expect((await register(it, 'lab')).code).toBe('machine_in_another_group');
    expect((await register(it, 'prod')).status).toBe(201);
  });
});
