import type { Ecosystem } from '@tidegate/protocol/scalars';
import { describe, expect, test } from 'vitest';
import { recordArtifacts } from '../artifacts/record-artifacts.ts';
import type { Config } from '../config.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';

const NAME = 'left';
const SCENES: Readonly<Record<string, (it: ApprovalsApp, of: Subject) => Promise<void> | void>> = {
  clear: () => {},
  vulnerable: (it, { source, version }) => it.vulnerable({ name: NAME, ecosystem: source, version }),
  unreachable: (it) => {
    it.osv.mode = 'down';
  },
  uncovered: (it) => it.osv.covered.clear(),
  diverging: async (it, { ecosystem, version }) => {
    const { agentId } = await insertTestAgent(it.database, { n: 7 });
    const artifact = { filename: `${NAME}.pkg`, url: 'https://m.example/x', size_bytes: 1 };
    const action = actionOf({ name: NAME, version, ecosystem });
    const actions = [{ ...action, artifact: { ...artifact, sha256: 'e'.repeat(64) } }];
    await it.database.transact((tx) => recordArtifacts(tx, it.platform, { agentId, ecosystem, actions }));
  },
};

interface Subject {
  ecosystem: Ecosystem;
  version: string;
  source: string;
}

const SUBJECTS: readonly Subject[] = [
  { ecosystem: 'apt', version: '1.1.0-1', source: 'Debian:12' },
  { ecosystem: 'npm', version: '1.1.0', source: 'npm' },
  { ecosystem: 'pypi', version: '1.1.0', source: 'PyPI' },
];
const POLICIES: readonly Partial<Config>[] = [
  {},
  { gateEnforcement: 'block' },
  { gateEnforcement: 'off', vulnerabilityPolicy: 'introduced', uncovered: 'warn' },
];
const CASES = SUBJECTS.flatMap((subject) =>
  Object.keys(SCENES).flatMap((scene) => POLICIES.map((settings) => ({ ...subject, scene, settings }))),
);

describe.each(ENGINES)('preview on $name', (engine) => {
  test.each(CASES)(
    '$ecosystem, $scene, $settings: equals the answer of a later approval, and mints nothing',
    async ({ scene, settings, ...subject }) => {
      const it = await createApprovalsApp(engine, { settings });
      const id = await it.addUpdate({ name: NAME, ...subject });
      await SCENES[scene]?.(it, subject);
      const preview = await it.call('POST', `/api/v1/updates/${id}/preview`);
      expect(preview.status).toBe(200);
      expect(it.keyRing.signatures).toBe(0);
      expect(await it.database.read.selectFrom('decisions').selectAll().execute()).toEqual([]);
      expect(await it.gateOf(id)).toEqual(preview.body);

      const bulk = await it.call('POST', '/api/v1/updates/approve', { update_ids: [id] });
      if (preview.body.blocked_by === null) {
        expect(bulk.body).toMatchObject({ approved: [{ update_id: id }], blocked: [] });
        expect((await it.call('POST', `/api/v1/updates/${id}/reopen`, {})).status).toBe(200);
        expect((await it.approve(id)).status).toBe(200);
        return;
      }
      // Both word for word.
      const answer = await it.approve(id);
      expect([answer.status, answer.code]).toEqual([409, 'approval_blocked']);
      expect(answer.body).toMatchObject(preview.body);
      const { blocked_by, reason, introduces, stays, fixes, age, divergences, package: of } = preview.body;
      const parts = { introduces, stays, fixes };
      const blocked = { update_id: id, package: of, blocked_by, reason, ...parts, age, divergences };
      expect(bulk.body).toMatchObject({ approved: [], blocked: [blocked] });
      const override = { override_supply_chain: true, override_reason: 'needed tonight' };
      expect((await it.approve(id, override)).status).toBe(preview.body.overridable ? 200 : 409);
    },
  );

  test('the three lists: fixed by this update, still present, newly introduced', async () => {
    const it = await createApprovalsApp(engine);
    const affects = (id: string, versions: string[]) =>
      it.osv.addRecord({ id, summary: id }, [{ ecosystem: 'npm', name: NAME, versions }]);
    affects('CVE-FIXED', ['1.0.0']);
    affects('CVE-KEPT', ['1.0.0', '1.1.0']);
    affects('CVE-NEW', ['1.1.0']);
    const action = { ...actionOf({ name: NAME, version: '1.1.0', ecosystem: 'npm' }), from_version: '1.0.0' };
    const id = await it.addUpdate({ name: NAME, ecosystem: 'npm', version: '1.1.0', plan: [action] });
    const { body } = await it.call('POST', `/api/v1/updates/${id}/preview`);
    expect(body).toMatchObject({
      introduces: [{ id: 'CVE-NEW', in_closure: 'top', version: '1.1.0' }],
      stays: [{ id: 'CVE-KEPT', in_closure: 'top', version: '1.1.0' }],
      fixes: [{ id: 'CVE-FIXED', package: NAME, version: '1.0.0', summary: 'CVE-FIXED' }],
      ...{ fixes_complete: true, unchecked: null },
    });
  });
});

describe.each(ENGINES)('log markers of section 6, word for word, on $name', (engine) => {
  test('approval_blocked, bulk_approval_blocked and gate_overridden, each once and exactly as specified', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable();
    const id = await it.addUpdate();
    await it.approve(id);
    await it.call('POST', '/api/v1/updates/approve', { update_ids: [id] });
    await it.approve(id, { override_supply_chain: true, override_reason: 'a reason for the event alone' });
    const of = `update_id=${id} package=openssl version=3.0.12-1`;
    const cause = 'cause="vulnerability: known_vulnerability"';
    const time = 'time=2026-11-21T09:00:00.000Z';
    expect(it.platform.lines.filter((line) => line.startsWith('[SECURITY]'))).toEqual([
      `[SECURITY] [server] [supply_chain] approval_blocked ${of} ${cause} actor=ada ${time}`,
      `[SECURITY] [server] [supply_chain] bulk_approval_blocked count=1 actor=ada ${time}`,
      `[SECURITY] [server] [supply_chain] gate_overridden ${of} ${cause} operator=ada ${time}`,
    ]);
    const events = await it.database.read
      .selectFrom('events')
      .selectAll()
      .where('type', 'in', ['approval_blocked', 'bulk_approval_blocked', 'supply_chain_override'])
      .orderBy('position')
      .execute();
    const of_package = { ecosystem: 'apt', name: 'openssl', version: '3.0.12-1' };
    const stop = { blocked_by: 'vulnerability', reason: 'known_vulnerability' };
    const found = { id: 'CVE-1', package: 'openssl', severity: null, epss: null };
    const counts = { introduces: 1, stays: 0, fixes: null };
    const parts = { introduces: [found], stays: [], fixes: [], counts };
    expect(
      events.map(({ kind, component, severity, actor, content }) => [
        ...[kind, component, severity, actor, JSON.parse(content)],
      ]),
    ).toEqual([
      [
        ...['system', 'security', 'warning', 'ada'],
        {
          ...{ update_id: id, package: of_package, ...stop, verdict: 'vulnerable', ...parts },
          ...{ actor: 'ada', decision: { id: expect.any(String), sha256: expect.any(String) } },
        },
      ],
      [
        ...['system', 'security', 'warning', 'ada'],
        { count: 1, blocked: [{ update_id: id, package: of_package, ...stop, counts }], actor: 'ada' },
      ],
      [
        ...['system', 'security', 'warning', 'ada'],
        {
          package: of_package,
          cause: {
            ...stop,
            verdict: 'vulnerable',
            unchecked: null,
            ...parts,
          },
          ...{ reason: 'a reason for the event alone', update_id: id, actor: 'ada' },
        },
      ],
    ]);
  });
});
