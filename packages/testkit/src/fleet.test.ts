import { createHash } from 'node:crypto';
import { RenewRequest } from '@tidegate/protocol/agent-api';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createClock } from './clock.ts';
import { checkInAnswer, command, envelope, type FakeAgentApi, startFakeAgentApi } from './fake-agent-api.ts';
import { createFleet, type Fleet, type FleetOptions } from './fleet.ts';
import { listenOnLoopback } from './loopback.ts';

const clock = createClock(Date.UTC(2026, 0, 1));

let api: FakeAgentApi;
let fleet: Fleet | undefined;
beforeEach(async () => {
  api = await startFakeAgentApi();
});
afterEach(async () => {
  fleet?.stop();
  await api.stop();
});

function start(options: Partial<FleetOptions> = {}): Fleet {
  const inventory = { packages: 20, updates: 2 };
  fleet = createFleet({
    serverUrl: api.url,
    agents: 3,
    registrationToken: 'reg',
    clock,
    inventory,
    ...options,
  });
  return fleet;
}

describe('a simulated fleet', () => {
  test('lives through enrolment, check-in, inventory and renewal in the words of the wire', async () => {
    const fleet = start({ agents: 50, concurrency: 8 });
    await fleet.enrolAll();
    await fleet.checkInAll();
    await fleet.reportAll();
    await fleet.renewAll();
    await fleet.checkInAll();
    const verdict = fleet.verdict();
    expect(verdict.problems).toEqual([]);
    expect(verdict.ok).toBe(true);
    const sent = verdict.operations.map(({ operation, sent, statuses }) => [operation, sent, statuses]);
    expect(sent).toEqual([
      ['register', 50, { 201: 50 }],
      ['check-in', 100, { 200: 100 }],
      ['inventory', 50, { 200: 50 }],
      ['renew', 50, { 200: 50 }],
    ]);
    expect(new Set(api.calls.map(({ machineId }) => machineId)).size).toBe(50);
    expect(verdict.operations.every(({ p50Ms, maxMs }) => p50Ms > 0 && maxMs >= p50Ms)).toBe(true);
  });

  test('sends its access token, at renewal none, and after renewal the new one', async () => {
    const fleet = start({ agents: 1, registrationToken: (index) => `reg-${index}` });
    await fleet.enrolAll();
    await fleet.checkInAll();
    await fleet.renewAll();
    await fleet.checkInAll();
    expect(api.calls.map(({ bearer }) => bearer)).toEqual(['reg-0', 'access-1', '', 'access-2']);
    expect(api.calls[2]?.body).toMatchObject({ refresh_token: 'refresh-1' });
  });

  test('repeats a renewal without an answer a minute later, once, with its request id', async () => {
    const fleet = start({ agents: 1 });
    await fleet.enrolAll();
    api.answerOf = () => 'hang up';
    await fleet.renewAll();
    clock.advance(59_999);
    await fleet.renewAll();
    api.answerOf = () => null;
    clock.advance(1);
    await fleet.renewAll();
    await fleet.renewAll();
    const [lost, repeated, next, ...more] = api.calls
      .slice(1)
      .map(({ body }) => Value.Parse(RenewRequest, body));
    expect(repeated).toEqual(lost);
    expect(next?.request_id).not.toBe(lost?.request_id);
    expect(more).toEqual([]);
  });

  test('names the digest of the inventory that was accepted, and the key set that it was told of', async () => {
    const fleet = start({ agents: 1 });
    await fleet.enrolAll();
    await fleet.reportAll();
    await fleet.checkInAll();
    const digest = createHash('sha256').update(JSON.stringify(api.calls[1]?.body)).digest('hex');
    expect(api.calls[2]?.body).toMatchObject({ inventory_digest: { apt: digest }, key_set_version: 3 });
    await fleet.checkInAll();
    expect(api.calls[3]?.body).toMatchObject({ key_set_version: 4 });
    expect(fleet.agents[0]?.wanted).toEqual(['apt']);
  });

  test('acknowledges commands, plans and installs, and then reports the new version', async () => {
    const fleet = start({ agents: 1 });
    await fleet.enrolAll();
    await fleet.reportAll();
    const [[updateId, update] = []] = [...(fleet.agents[0]?.updates ?? [])];
    const plan = {
      ecosystem: 'apt',
      updates: [{ update_id: updateId, name: update?.name, to_version: update?.available_version }],
    };
    const agentId = fleet.agents[0]?.session?.agentId ?? '';
    const sent = [
      command({ agentId, action: 'plan_update', params: plan }),
      command({ agentId, action: 'install_update', params: { update_ids: [updateId] } }),
    ];
    api.answerOf = (call) => (call.path.endsWith('/check-in') ? checkInAnswer(sent) : null);
    await fleet.checkInAll();
    await fleet.checkInAll(); // redelivered: acknowledged again, done once
    await fleet.answerAll();
    await fleet.reportAll();
    expect(fleet.verdict().problems).toEqual([]);
    expect(api.calls.filter(({ path }) => path.endsWith('/plans'))).toHaveLength(1);
    const results = api.calls.filter(({ path }) => path.endsWith('/result')).map(({ body }) => body);
    expect(results).toMatchObject([{ status: 'success' }, { status: 'running' }, { status: 'success' }]);
    expect(api.calls.filter(({ path }) => path.endsWith('/check-in'))[1]?.body).toMatchObject({
      received: [expect.any(String), expect.any(String)],
    });
    expect(fleet.agents[0]?.received).toHaveLength(2);
    const installed = { name: update?.name, version: update?.available_version };
    expect(api.calls.at(-1)?.body).toMatchObject({
      packages: expect.arrayContaining([expect.objectContaining(installed)]),
    });
  });

  test.runIf(process.platform === 'linux')('registers each host from an address of its own', async () => {
    await start({ addressOf: (index) => `127.0.1.${index + 1}` }).enrolAll();
    expect(api.calls.map(({ address }) => address).sort()).toEqual(['127.0.1.1', '127.0.1.2', '127.0.1.3']);
  });
});

describe('the verdict is bad', () => {
  test.each([
    [429, 'rate_limited'],
    [401, 'access_token_expired'],
    [403, 'unauthorized'],
    [500, 'unavailable'],
    [204, undefined],
  ])('when one request of many meets %i', async (status, code) => {
    const fleet = start();
    await fleet.enrolAll();
    let left = 1;
    api.answerOf = () => (left-- > 0 ? { status, body: code === undefined ? undefined : { code } } : null);
    await fleet.checkInAll();
    expect(fleet.verdict().ok).toBe(false);
    expect(fleet.verdict().problems).toEqual([`check-in: 1 unexpected (${[status, code].join(' ').trim()})`]);
  });

  test.each([
    ['an answer of the wrong shape', { ok: true }],
    ['commands that are malformed', checkInAnswer([envelope({ action: 'format' })]).body],
    ['a signed document of the wrong shape', checkInAnswer([], envelope({ v: 2 })).body],
  ])('when a good status brings %s', async (text, body) => {
    const fleet = start({ agents: 1 });
    await fleet.enrolAll();
    api.answerOf = () => ({ status: 200, body });
    await fleet.checkInAll();
    expect(fleet.verdict().problems.join()).toContain(text);
  });

  test('when nothing was sent, when nobody listens and when the server is silent for too long', async () => {
    expect(start().verdict()).toMatchObject({ ok: false, problems: ['nothing was sent'] });
    const silent = await listenOnLoopback(() => {});
    const waiting = start({ serverUrl: silent.url, timeoutMs: 30 });
    await waiting.enrolAll();
    expect(waiting.verdict().problems).toEqual(['register: 3 unexpected (error timeout)']);
    waiting.stop();
    await silent.stop();
    // Nobody can listen on port 0, while another test may get a port that was just given back.
    const refused = start({ serverUrl: 'http://127.0.0.1:0' });
    await refused.enrolAll();
    await refused.checkInAll();
    expect(refused.verdict().problems).toEqual(['register: 3 unexpected (error ECONNREFUSED)']);
  });

  test('when connections break, but not when an idle one was closed just as it was used again', async () => {
    const fleet = start({ agents: 1 });
    await fleet.enrolAll();
    let left = 1;
    api.answerOf = () => (left-- > 0 ? 'hang up' : null);
    await fleet.checkInAll();
    expect(fleet.verdict()).toMatchObject({ ok: true, operations: [{}, { sent: 1, staleConnections: 1 }] });
    api.answerOf = () => 'hang up';
    await fleet.checkInAll();
    expect(fleet.verdict().problems).toEqual(['check-in: 1 unexpected (error ECONNRESET)']);
  });
});

test('a fleet refuses an address that it cannot speak to', () => {
  expect(() => start({ serverUrl: 'https://127.0.0.1:1' })).toThrow(/plain http/);
});
