import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { isMachineId } from '../platform/http/identities.ts';
import {
  type AgentsApp,
  call,
  createAgentsApp,
  type EnrolledAgent,
  enrol,
  eventTypes,
  renewal,
} from '../testing/agents-app.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';
import { faulty } from '../testing/faulty-database.ts';
import {
  formRefreshToken,
  hashRefreshToken,
  parseRefreshToken,
  REFRESH_SECRET_BYTES,
  REFRESH_TOKEN_LIFETIME_MS,
} from './refresh-tokens.ts';
import { renewTokens } from './renew-tokens.ts';

describe.each(ENGINES)('renewal (E1) on $name', (engine) => {
  async function setUp() {
    const it = createAgentsApp(await engine.open());
    const agent = await enrol(it);
    return { it, agent, t0: agent.refresh_token };
  }
  /** A renewal that must succeed. */
  async function next(it: AgentsApp, token: string, requestId?: string): Promise<string> {
    const { status, body } = await renewal(it, token, requestId === undefined ? {} : { requestId });
    expect(status).toBe(200);
    return body.refresh_token;
  }
  async function statusOf(it: AgentsApp, token: string): Promise<number> {
    return (await renewal(it, token)).status;
  }
  async function reuses(it: AgentsApp): Promise<number> {
    return (await eventTypes(it)).filter((type) => type === 'REFRESH_TOKEN_REUSE').length;
  }

  test('I1: a renewal gives a new pair; the old access token lives on, the new one works', async () => {
    const { it, agent, t0 } = await setUp();
    const answer = await renewal(it, t0);
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(Object.keys(answer.body).sort()).toEqual([
      'access_token',
      'expires_in',
      'refresh_expires_at',
      'refresh_token',
    ]);
    expect(answer.body.refresh_token).not.toBe(t0);
    for (const token of [agent.access_token, answer.body.access_token]) {
      expect((await checkIn(it, agent, token)).status).toBe(200);
    }
    expect(await eventTypes(it)).toEqual(['AGENT_ENROLLED']);
  });

  test('I2, I3, I4, I5: the previous token is accepted exactly once more, then the family is revoked', async () => {
    const { it, agent, t0 } = await setUp();
    const lost = await next(it, t0);
    const child = await next(it, t0);
    expect(child).not.toBe(lost);
    expect((await renewal(it, t0)).code).toBe('refresh_token_invalid');
    expect(await eventTypes(it)).toEqual(['AGENT_ENROLLED', 'REFRESH_GRACE_USED', 'REFRESH_TOKEN_REUSE']);
    const refused = await checkIn(it, agent, agent.access_token);
    expect([refused.status, refused.code]).toEqual([401, 'access_token_invalid']);
    expect(await statusOf(it, child)).toBe(401);
    expect(await reuses(it)).toBe(1);
  });

  test('the reuse event is critical and names the family (section 6)', async () => {
    const { it, agent, t0 } = await setUp();
    await next(it, await next(it, t0));
    await renewal(it, t0);
    const { read } = it.platform.database;
    const row = await read
      .selectFrom('events')
      .selectAll()
      .where('type', '=', 'REFRESH_TOKEN_REUSE')
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({ severity: 'critical', agent_id: agent.agent_id, kind: 'security' });
    expect(JSON.parse(row.content)).toEqual({
      family_id: parseRefreshToken(t0)?.familyId,
      reason: 'superseded',
      presented_seq: 1,
      current_seq: 3,
      machine_id: 'machine-1',
      address: '127.0.0.1',
      last_seen: null,
    });
  });

  test('I6: two at once with different ids: both 200, one child stays valid, the other one revokes', async () => {
    const { it, t0 } = await setUp();
    const [a, b] = await Promise.all([
      renewal(it, t0, { requestId: randomUUID() }),
      renewal(it, t0, { requestId: randomUUID() }),
    ]);
    expect([a.status, b.status]).toEqual([200, 200]);
    expect(a.body.refresh_token).not.toBe(b.body.refresh_token);
    const children = [a.body.refresh_token, b.body.refresh_token];
    const alive = await aliveOf(it, children);
    expect(alive).toHaveLength(1);
    const dead = children.find((child) => !alive.includes(child));
    expect(await statusOf(it, dead)).toBe(401);
    expect(await reuses(it)).toBe(1);
    for (const child of alive) expect(await statusOf(it, child)).toBe(401);
  });

  test('I7: two at once with the same id: both 200 with the same child', async () => {
    const { it, t0 } = await setUp();
    const requestId = randomUUID();
    const [a, b] = await Promise.all([renewal(it, t0, { requestId }), renewal(it, t0, { requestId })]);
    expect([a.status, b.status]).toEqual([200, 200]);
    expect(a.body.refresh_token).toBe(b.body.refresh_token);
    expect(a.body.refresh_expires_at).toBe(b.body.refresh_expires_at);
    await next(it, a.body.refresh_token);
  });

  test('I8: three at once: two 200, one 401, one critical event', async () => {
    const { it, t0 } = await setUp();
    const answers = await Promise.all([1, 2, 3].map(() => renewal(it, t0)));
    expect(answers.map((a) => a.status).sort()).toEqual([200, 200, 401]);
    expect(await reuses(it)).toBe(1);
  });

  test('RT14: 200 at once of one token: exactly two 200, one critical event, no 500', async () => {
    const { it, t0 } = await setUp();
    const answers = await Promise.all(Array.from({ length: 200 }, () => renewal(it, t0)));
    const count = (status: number) => answers.filter((a) => a.status === status).length;
    expect([count(200), count(401)]).toEqual([2, 198]);
    expect(await reuses(it)).toBe(1);
    const ok = answers.filter((a) => a.status === 200);
    expect(new Set(ok.map((a) => a.body.refresh_token)).size).toBe(2);
  });

  test('RT14: 200 at once of one token and one id: the two 200 hold the same child', async () => {
    const { it, t0 } = await setUp();
    const requestId = randomUUID();
    const answers = await Promise.all(Array.from({ length: 200 }, () => renewal(it, t0, { requestId })));
    const ok = answers.filter((a) => a.status === 200);
    expect(ok).toHaveLength(2);
    expect(new Set(ok.map((a) => a.body.refresh_token)).size).toBe(1);
    expect(await reuses(it)).toBe(1);
  });

  test('I9, I13, I22: a token before the previous one revokes', async () => {
    const { it, t0 } = await setUp();
    const t2 = await next(it, await next(it, t0));
    expect(await statusOf(it, t0)).toBe(401);
    expect(await statusOf(it, t2)).toBe(401);
    expect(await reuses(it)).toBe(1);
  });

  test('I10: a reply lost after the second renewal is forgiven', async () => {
    const { it, t0 } = await setUp();
    const t1 = await next(it, t0);
    await next(it, t1);
    await next(it, await next(it, t1));
    expect(await reuses(it)).toBe(0);
  });

  test('each generation has its own grace: one lost reply in each of four is forgiven', async () => {
    const { it, t0 } = await setUp();
    let token = t0;
    for (let generation = 1; generation <= 4; generation++) {
      await next(it, token);
      token = await next(it, token);
    }
    expect((await eventTypes(it)).filter((type) => type === 'REFRESH_GRACE_USED')).toHaveLength(4);
    expect(await reuses(it)).toBe(0);
  });

  test('I11: a displaced child revokes after its sibling was used', async () => {
    const { it, t0 } = await setUp();
    const displaced = await next(it, t0);
    const t2 = await next(it, await next(it, t0));
    expect(await statusOf(it, displaced)).toBe(401);
    expect(await statusOf(it, t2)).toBe(401);
    expect(await reuses(it)).toBe(1);
  });

  test('I12: a displaced child revokes; of the same request it was not displaced', async () => {
    const { it, t0 } = await setUp();
    const displaced = await next(it, t0);
    await next(it, t0);
    expect(await statusOf(it, displaced)).toBe(401);
    expect(await reuses(it)).toBe(1);
    expect((await familyOf(it, t0)).revoked_reason).toBe('displaced');
    const other = await enrol(it, 'machine-2');
    const requestId = randomUUID();
    const options = { machineId: 'machine-2', requestId };
    const child = (await renewal(it, other.refresh_token, options)).body.refresh_token;
    expect((await renewal(it, other.refresh_token, options)).body.refresh_token).toBe(child);
    expect((await renewal(it, child, { machineId: 'machine-2' })).status).toBe(200);
    expect(await reuses(it)).toBe(1);
  });

  test('I14: a renewal and a revocation at once leave no usable token', async () => {
    const { it, agent, t0 } = await setUp();
    const [renewed, revoked] = await Promise.all([
      renewal(it, t0),
      call(it, 'POST', `/api/v1/agents/${agent.agent_id}/revoke`, { token: 'admin' }),
    ]);
    expect(revoked.status).toBe(200);
    expect([200, 401]).toContain(renewed.status);
    if (renewed.status === 200) {
      expect(await statusOf(it, renewed.body.refresh_token)).toBe(401);
      expect((await checkIn(it, agent, renewed.body.access_token)).code).toBe('access_token_invalid');
    }
    expect(await statusOf(it, t0)).toBe(401);
    expect(await reuses(it)).toBe(0);
  });

  test('I15: a renewal and a rebind at once are serialised; every bind has its audit row', async () => {
    const { it, agent, t0 } = await setUp();
    const [renewed] = await Promise.all([renewal(it, t0, { machineId: 'machine-1' }), rebind(it, agent)]);
    expect(renewed.status).toBe(200);
    const { body } = await call(it, 'GET', `/api/v1/agents/${agent.agent_id}`, { token: 'viewer' });
    const bound = (await eventTypes(it)).includes('MACHINE_BOUND');
    expect(body.machine_id).toBe(bound ? 'machine-1' : null);
  });

  test('row 8: after a rebind a renewal binds the new machine in its transaction', async () => {
    const { it, agent, t0 } = await setUp();
    expect((await renewal(it, t0, { machineId: 'machine-9' })).status).toBe(403);
    await rebind(it, agent);
    expect((await renewal(it, t0, { machineId: null })).code).toBe('MACHINE_ID_MISMATCH');
    expect((await renewal(it, t0, { machineId: 'machine-9' })).status).toBe(200);
    expect((await renewal(it, t0, { machineId: 'machine-1' })).code).toBe('MACHINE_ID_MISMATCH');
    expect(await eventTypes(it)).toEqual([
      'AGENT_ENROLLED',
      'MACHINE_ID_MISMATCH',
      'MACHINE_REBOUND',
      'MACHINE_ID_MISMATCH',
      'MACHINE_BOUND',
      'MACHINE_ID_MISMATCH',
    ]);
  });

  test('a machine of another agent cannot be bound: 403, and nothing changes', async () => {
    const { it, agent, t0 } = await setUp();
    await enrol(it, 'machine-2');
    await rebind(it, agent);
    const before = await familyOf(it, t0);
    expect((await renewal(it, t0, { machineId: 'machine-2' })).code).toBe('MACHINE_ID_MISMATCH');
    expect(await familyOf(it, t0)).toEqual(before);
    expect((await renewal(it, t0, { machineId: 'machine-3' })).status).toBe(200);
  });

  test('I16: a wrong or missing machine is 403 with event and log line, and uses nothing up', async () => {
    const { it, agent, t0 } = await setUp();
    await next(it, t0);
    const before = await familyOf(it, t0);
    for (const machineId of ['machine-2', null, 'not visible', 'é'.repeat(3), 'x'.repeat(129)]) {
      const answer = await renewal(it, t0, { machineId });
      expect([answer.status, answer.code]).toEqual([403, 'MACHINE_ID_MISMATCH']);
      expect(answer.body.refresh_token).toBeUndefined();
    }
    expect(await familyOf(it, t0)).toEqual(before);
    const lines = it.platform.lines.filter((line) => line.includes('machine_id_mismatch'));
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(/^\[WARN\] \[server\] \[middleware\] machine_id_mismatch /);
    expect(lines[0]).toContain(`agent_id=${agent.agent_id}`);
    const { read } = it.platform.database;
    const events = await read
      .selectFrom('events')
      .selectAll()
      .where('type', '=', 'MACHINE_ID_MISMATCH')
      .execute();
    expect(events).toHaveLength(5);
    expect(JSON.parse(events[0]?.content ?? '')).toMatchObject({
      endpoint: 'renewal',
      token_class: 'previous',
    });
    await next(it, t0);
  });

  test('I20, I21: 90 days count from each issue; expired is 401 without revocation', async () => {
    const { it, t0 } = await setUp();
    it.platform.clock.advance(REFRESH_TOKEN_LIFETIME_MS - 1);
    const t1 = await next(it, t0);
    it.platform.clock.advance(1);
    expect(await statusOf(it, t0)).toBe(401);
    it.platform.clock.advance(REFRESH_TOKEN_LIFETIME_MS - 1);
    expect(await statusOf(it, t1)).toBe(401);
    it.platform.clock.advance(-86_400_000);
    await next(it, t1);
    expect(await reuses(it)).toBe(0);
  });

  test('I19, row 13: a token ahead of the database revokes by default', async () => {
    const { it, t0 } = await setUp();
    const t1 = await next(it, t0);
    const snapshot = await familyOf(it, t0);
    const t3 = await next(it, await next(it, t1));
    await restore(it, snapshot);
    expect(await statusOf(it, t3)).toBe(401);
    expect(await reuses(it)).toBe(1);
    expect(await statusOf(it, t1)).toBe(401);
  });

  test('row 13: an open resync accepts a token ahead of the database once, with a critical event', async () => {
    const { it, t0 } = await setUp();
    const snapshot = await familyOf(it, t0);
    const t2 = await next(it, await next(it, t0));
    await restore(it, snapshot);
    const token = parseRefreshToken(t2);
    const machineId = 'machine-1';
    if (!token || !isMachineId(machineId)) throw new Error('the token of a test is well formed');
    const resync = { isOpenFor: async () => true, take: async () => {} };
    const deps = { ...it.renewal, resync };
    const resynced = await renewTokens(deps, { token, machineId, requestId: null });
    if (!resynced.ok) throw new Error(`refused: ${resynced.code}`);
    expect(parseRefreshToken(resynced.refreshToken)?.seq).toBe(token.seq + 1);
    expect(await eventTypes(it)).toEqual(['AGENT_ENROLLED', 'REFRESH_RESYNC']);
    await next(it, resynced.refreshToken);
  });

  test('row 2: a token that this server never made does not affect the family that it names', async () => {
    const { it, t0 } = await setUp();
    const before = await familyOf(it, t0);
    for (const seq of ['1', '2', '99']) {
      const forged = t0.replace('.1.', `.${seq}.`).replace(/[\w-]{43}\./, `${'B'.repeat(43)}.`);
      expect(await statusOf(it, forged)).toBe(401);
    }
    expect(await familyOf(it, t0)).toEqual(before);
    expect(await reuses(it)).toBe(0);
    await next(it, t0);
  });

  test('row 2: no such family: 401 from any machine, and nothing is written', async () => {
    const { it } = await setUp();
    const [familyId, secret] = [randomUUID(), Buffer.alloc(REFRESH_SECRET_BYTES, 7)];
    const token = parseRefreshToken(formRefreshToken(it.renewal.tagKey, { familyId, seq: 1, secret }));
    if (!token) throw new Error('the token of a test is well formed');
    const refused = { ok: false, code: 'refresh_token_invalid', agentId: null, why: 'unknown_token' };
    expect(await renewTokens(it.renewal, { token, machineId: null, requestId: null })).toEqual(refused);
    expect(await statusOf(it, token.text)).toBe(401);
    expect(await eventTypes(it)).toEqual(['AGENT_ENROLLED']);
  });

  test('tokens stay valid when the secret of their tags is lost: hashes decide, tags only warn', async () => {
    const { it, t0 } = await setUp();
    const token = parseRefreshToken(t0);
    const machineId = 'machine-1';
    if (!token || !isMachineId(machineId)) throw new Error('the token of a test is well formed');
    const deps = { ...it.renewal, tagKey: Buffer.alloc(32, 9) };
    expect(await renewTokens(deps, { token, machineId, requestId: null })).toMatchObject({ ok: true });
  });

  test('I24: no other credential renews, and a refresh token opens nothing else', async () => {
    const { it, agent, t0 } = await setUp();
    expect((await renewal(it, agent.access_token)).code).toBe('refresh_token_invalid');
    const answer = await checkIn(it, agent, t0);
    expect([answer.status, answer.code]).toEqual([401, 'access_token_invalid']);
    await next(it, t0);
  });

  test('I17: a 429 has no side effect; each family has its own budget', async () => {
    const it = createAgentsApp(await engine.open(), {
      budgets: { agent_renewal: { requests: 2, windowSeconds: 60, enabled: true } },
    });
    const agent = await enrol(it);
    const t2 = await next(it, await next(it, agent.refresh_token));
    const before = await familyOf(it, t2);
    const limited = await renewal(it, t2);
    expect([limited.status, limited.code]).toEqual([429, 'rate_limited']);
    expect((await renewal(it, agent.refresh_token)).status).toBe(429);
    expect(await familyOf(it, t2)).toEqual(before);
    const other = await enrol(it, 'machine-2');
    expect((await renewal(it, other.refresh_token, { machineId: 'machine-2' })).status).toBe(200);
    expect((await renewal(it, 'x')).status).toBe(401);
    // A forged token that names a family shares the budget of the address.
    expect(
      (
        await renewal(
          it,
          t2.replace(/.$/, (c) => (c === 'A' ? 'B' : 'A')),
        )
      ).status,
    ).toBe(401);
    expect((await renewal(it, 'x')).status).toBe(429);
    it.platform.clock.advance(60_000);
    await next(it, t2);
  });

  test('row 14: a failed commit is 503 with Retry-After, never 401, and leaves the token as it was', async () => {
    const database = await engine.open();
    const failing = { now: false };
    const it = createAgentsApp(faulty(database, failing));
    const { refresh_token: t0 } = await enrol(it);
    const before = await familyOf(it, t0);
    failing.now = true;
    const answer = await renewal(it, t0);
    expect([answer.status, answer.code]).toEqual([503, 'unavailable']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect((await renewal(it, t0, { machineId: 'machine-2' })).status).toBe(503);
    failing.now = false;
    expect(await familyOf(it, t0)).toEqual(before);
    await next(it, t0);
  });

  test('a renewal is three statements in one transaction; grace adds its event', async () => {
    const database = await engine.open();
    const counted = countStatements(database);
    const it = createAgentsApp(counted.database);
    const { refresh_token: t0 } = await enrol(it);
    counted.reset();
    await next(it, t0, randomUUID());
    expect(counted.counts()).toEqual({ transactions: 1, statements: 3, reads: 0 });
    counted.reset();
    await next(it, t0);
    expect(counted.counts()).toEqual({ transactions: 1, statements: 6, reads: 0 });
  });

  test('invariant 9: no issued secret is in the database or the log', async () => {
    const { it, agent, t0 } = await setUp();
    const requestId = randomUUID();
    const issued = [agent.access_token, t0];
    const first = await renewal(it, t0, { requestId });
    const second = await renewal(it, t0, { requestId });
    const third = await renewal(it, second.body.refresh_token, { requestId });
    await renewal(it, t0, { requestId });
    for (const answer of [first, second, third]) {
      issued.push(answer.body.access_token, answer.body.refresh_token);
    }
    const { read } = it.platform.database;
    const kept = JSON.stringify([
      await read.selectFrom('refresh_families').selectAll().execute(),
      await read.selectFrom('events').selectAll().execute(),
      await read.selectFrom('agents').selectAll().execute(),
      it.platform.lines,
    ]);
    for (const token of issued) {
      const secret = parseRefreshToken(token)?.secret ?? token.split('.').at(-1) ?? token;
      expect(secret.length).toBeGreaterThan(40);
      expect(kept).not.toContain(secret);
    }
    expect(kept).not.toContain(requestId);
  });
});

function checkIn(it: AgentsApp, { agent_id, machineId }: EnrolledAgent, token: string) {
  return call(it, 'POST', `/api/v1/agents/${agent_id}/check-in`, { token, machineId });
}

function rebind(it: AgentsApp, { agent_id }: EnrolledAgent) {
  const url = `/api/admin/agents/${agent_id}/rebind-machine-id`;
  return call(it, 'POST', url, { token: 'admin', body: { reason: 'new mainboard' } });
}

function familyOf(it: AgentsApp, token: string) {
  const { read } = it.platform.database;
  const id = parseRefreshToken(token)?.familyId ?? '';
  return read.selectFrom('refresh_families').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

async function restore(it: AgentsApp, row: Awaited<ReturnType<typeof familyOf>>): Promise<void> {
  await it.platform.database.transact((tx) =>
    tx.updateTable('refresh_families').set(row).where('id', '=', row.id).execute(),
  );
}

/** The children that the database would accept as current. */
async function aliveOf(it: AgentsApp, children: string[]): Promise<string[]> {
  const { cur_hash } = await familyOf(it, children[0] ?? '');
  return children.filter((child) => hashRefreshToken(child) === cur_hash);
}
