import { AGENT_STATE_TYPE, AgentStatePayload, CommandPayload, Envelope } from '@tidegate/protocol/documents';
import { REPAIR_PACKAGES_MAX, type Repair, type RepairPackage } from '@tidegate/protocol/repairs';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { openIncidentScene } from '../testing/incident-scene.ts';

const LOUD: RepairPackage = {
  ...{ name: 'loud', arch: 'all', version: '1.1-1', state: 'half-configured' },
  scripts: { postinst: 'a'.repeat(64) },
};
const OTHER: RepairPackage = { ...LOUD, name: 'other', state: 'unpacked', scripts: {} };
const NOBODY = '01900000-0000-7000-8000-00000000beef';
const Reports = Type.Object({ reports: Type.Array(Type.Object({ repair_sha256: Type.Any() })) });
const Queued = Type.Object({ command_id: Type.String() });
const Delivered = Type.Object({ commands: Type.Array(Envelope) });
const Events = Type.Object({ items: Type.Array(Type.Object({ type: Type.String(), content: Type.Any() })) });

describe.each(ENGINES)('the repair of a host, on $name', (engine) => {
  async function setUp() {
    const scene = await openIncidentScene(engine);
    const { agent, admin, must, send, asAgent, asAdmin } = scene;
    const url = `/api/v1/agents/${agent.agentId}/repair`;
    const reportOf = (repair: unknown) => {
      const trouble = { reason: 'packages_broken', detail: 'loud 1.1-1 is half-configured' };
      const rest = { broken: [], more_broken: 0, left_files: [], more_left_files: 0, unread_folders: 0 };
      const condition = {
        trouble: repair === null ? null : trouble,
        ...rest,
        ...(repair !== null && { repair }),
      };
      const report = { scanned_at: '2026-11-21T09:00:00Z', complete: false, packages: [], updates: [] };
      return asAgent('/inventory/apt', { ...report, condition }, 'PUT');
    };
    return {
      ...scene,
      url,
      reportOf,
      report: (repair: Repair | null) => must(reportOf(repair)),
      async shown(): Promise<string | null> {
        const inventory = { url: `/api/v1/agents/${agent.agentId}/inventory`, token: admin };
        const { reports } = Value.Parse(Reports, await must({ method: 'GET', ...inventory }));
        return reports[0]?.repair_sha256;
      },
      order: async (sha256: string | null, token = admin) => {
        const { status, code, text } = await send({ ...asAdmin(url, { repair_sha256: sha256 }), token });
        return status === 202 ? Value.Parse(Queued, JSON.parse(text)).command_id : `${status} ${code}`;
      },
      async delivered() {
        const { commands } = Value.Parse(Delivered, await must(scene.checkIn()));
        return commands.map(({ payload }) =>
          Value.Parse(CommandPayload, JSON.parse(Buffer.from(payload, 'base64').toString())),
        );
      },
      result: (id: string, body: object) => must(asAgent(`/commands/${id}/result`, body)),
      async events(type: string) {
        const found = await must({ method: 'GET', url: `/api/v1/events?type=${type}`, token: admin });
        return Value.Parse(Events, found).items.map(({ content }) => content);
      },
    };
  }

  test('is ordered as it was shown, signed with every package and script, and recorded with its end', async () => {
    const it = await setUp();
    const repair = { packages: [LOUD, OTHER] };
    await it.report(repair);
    const sha256 = await it.shown();
    const id = await it.order(sha256);
    expect(await it.delivered()).toMatchObject([{ command_id: id, action: 'repair', params: repair }]);
    expect(await it.events('repair_ordered')).toEqual([
      {
        ...{ actor: 'admin', command_id: id, sha256, package_count: 2 },
        packages: ['loud 1.1-1', 'other 1.1-1'],
      },
    ]);
    await it.result(id, { status: 'running' });
    expect(await it.events('repair_ended')).toEqual([]);
    await it.result(id, { status: 'failed', reason: 'repair_failed: loud 1.1-1 is half-configured' });
    expect(await it.events('repair_ended')).toMatchObject([
      { command_id: id, status: 'failed', reason: 'repair_failed: loud 1.1-1 is half-configured' },
    ]);
  });

  test('another one than the host offers by now is not ordered', async () => {
    const it = await setUp();
    expect(await it.order('a'.repeat(64))).toBe('409 conflict');
    await it.report({ packages: [LOUD] });
    const before = await it.shown();
    await it.report({ packages: [{ ...LOUD, scripts: { postinst: 'b'.repeat(64) } }] });
    expect(await it.shown()).not.toBe(before);
    expect(await it.order(before)).toBe('409 conflict');
    await it.report(null);
    expect(await it.shown()).toBeNull();
    expect(await it.order(before)).toBe('409 conflict');
    expect(await it.delivered()).toEqual([]);
  });

  test('one is under way at a time; what a host never ends does not stand in the way for ever', async () => {
    const it = await setUp();
    await it.report({ packages: [] });
    const sha256 = await it.shown();
    const [one, two] = await Promise.all([it.order(sha256), it.order(sha256)]);
    expect([one, two].filter((said) => said === '409 conflict')).toHaveLength(1);
    await it.delivered();
    await it.result(one === '409 conflict' ? two : one, { status: 'running' });
    expect(await it.order(sha256)).toBe('409 conflict');
    it.app.platform.clock.advance(24 * 3_600_000);
    const fresh = await it.logIn('approver');
    expect(await it.order(sha256, fresh)).not.toContain('409');
  });

  test('it is not retried, but ordered anew', async () => {
    const it = await setUp();
    await it.report({ packages: [LOUD] });
    const id = await it.order(await it.shown());
    await it.delivered();
    await it.result(id, { status: 'refused', reason: 'repair_differs: loud is 1.2-1' });
    const retried = await it.send(it.asAdmin(`/api/v1/commands/${id}/retry`));
    expect([retried.status, retried.text]).toEqual([409, expect.stringContaining('ordered anew')]);
    expect(await it.order(await it.shown())).not.toContain('409');
  });

  test('one that was cancelled after its delivery is in the signed state of its host, before it not', async () => {
    const it = await setUp();
    await it.report({ packages: [LOUD] });
    const state = async () => {
      const url = `/api/v1/agents/${it.agent.agentId}/state`;
      const { accessToken: token, machineId } = it.agent;
      const envelope = Value.Parse(Envelope, await it.must({ method: 'GET', url, token, machineId }));
      expect(envelope.payloadType).toBe(AGENT_STATE_TYPE);
      return Value.Parse(AgentStatePayload, JSON.parse(Buffer.from(envelope.payload, 'base64').toString()));
    };
    const cancel = (id: string) => it.must(it.asAdmin(`/api/v1/commands/${id}/cancel`));
    await cancel(await it.order(await it.shown()));
    expect((await state()).revoked_tokens).toEqual([]);
    const id = await it.order(await it.shown());
    await it.delivered();
    expect((await state()).revoked_tokens).toEqual([]);
    await cancel(id);
    expect((await state()).revoked_tokens).toEqual([id]);
    it.app.platform.clock.advance(26 * 3_600_000);
    await it.renew(it.agent.refreshToken);
    expect((await state()).revoked_tokens).toEqual([]);
  });

  test('viewers, and hosts that are gone or revoked', async () => {
    const it = await setUp();
    await it.report({ packages: [LOUD] });
    const sha256 = await it.shown();
    const missing = await it.send(it.asAdmin(`/api/v1/agents/${NOBODY}/repair`, { repair_sha256: sha256 }));
    expect(missing.status).toBe(404);
    expect(await it.order(sha256, it.viewer)).toBe('403 forbidden');
    await it.must(it.asAdmin(`/api/v1/agents/${it.agent.agentId}/revoke`));
    expect(await it.order(sha256)).toBe('409 conflict');
  });

  test.each<[string, object]>([
    ['a name that would be an option', { packages: [{ ...LOUD, name: '--pending' }] }],
    ['a state that dpkg cannot finish', { packages: [{ ...LOUD, state: 'half-installed' }] }],
    ['an unknown script', { packages: [{ ...LOUD, scripts: { prerm: 'a'.repeat(64) } }] }],
    ['one package too many', { packages: Array.from({ length: REPAIR_PACKAGES_MAX + 1 }, () => LOUD) }],
    ['an unknown member', { packages: [LOUD], force: true }],
  ])('a report that offers %s is refused', async (_, repair) => {
    const it = await setUp();
    expect((await it.send(it.reportOf(repair))).status).toBe(400);
  });
});
