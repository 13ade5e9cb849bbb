import type { OsvMode } from '@tidegate/testkit/fake-osv';
import { describe, expect, test } from 'vitest';
import { updatesOfCommand } from '../commands/named-updates.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES, SAMPLED_ENGINES, type TestEngine } from '../testing/engines.ts';
import { findUpdate } from '../updates/store.ts';
import { sweepOnce } from './sweep.ts';

const HOUR_MS = 3_600_000;
const TIME = 'time=2026-11-21T09:00:00.000Z';
const OVERRIDE = { override_supply_chain: true, override_reason: 'we looked at it' };

/** A package per ecosystem as the database names it, with a source and an epoch that a bare name would get wrong. */
const HOSTS = {
  npm: { osv: 'npm', asked: '3.0.12', version: '3.0.12', os: ['debian', '12'] },
  pypi: { osv: 'PyPI', asked: '3.0.12', version: '3.0.12', os: ['debian', '12'] },
  apt: { osv: 'Debian:12', asked: '3.0.12-1', version: '3.0.12-1', os: ['debian', '12'] },
  dnf: { osv: 'AlmaLinux:9', asked: '0:3.0.12-1.el9', version: '3.0.12-1.el9', os: ['almalinux', '9.4'] },
} as const;
const ECOSYSTEMS = ['npm', 'pypi', 'apt', 'dnf'] as const;

type Said = 'clear' | 'vulnerable' | 'unreachable' | 'uncovered';

/** A mode of the source, and the resulting verdict on a package with a vulnerability and on one without. */
const SOURCES: readonly { does: string; mode: OsvMode; pageSize?: number; bad: Said; good: Said }[] = [
  { does: 'is up', mode: 'up', bad: 'vulnerable', good: 'clear' },
  { does: 'pages', mode: 'up', pageSize: 1, bad: 'vulnerable', good: 'clear' },
  { does: 'refuses batches', mode: 'refuse-batch', bad: 'vulnerable', good: 'clear' },
  {
    does: 'gives a token without an answer',
    mode: 'page-token-without-vulns',
    bad: 'vulnerable',
    good: 'clear',
  },
  { does: 'is down', mode: 'down', bad: 'unreachable', good: 'unreachable' },
  { does: 'fails', mode: 'failing', bad: 'unreachable', good: 'unreachable' },
  { does: 'hangs', mode: 'hang', bad: 'unreachable', good: 'unreachable' },
  { does: 'serves garbage', mode: 'garbage', bad: 'unreachable', good: 'unreachable' },
];

/** A host of the ecosystem whose package `bad` has three known vulnerabilities, as have its namesakes, and `good` none. */
async function setUp(
  engine: TestEngine,
  ecosystem: keyof typeof HOSTS,
  options: { waitMs?: number; osvMs?: number } = {},
) {
  const { osv, asked, version, os } = HOSTS[ecosystem];
  // The age gate is off here; age-over-http.test.ts covers it.
  const it = await createApprovalsApp(engine, { settings: { gateEnforcement: 'off' }, ...options });
  it.osv.covered.add('AlmaLinux:9');
  const [os_id, os_version_id] = os;
  await it.database.transact((tx) => tx.updateTable('agents').set({ os_id, os_version_id }).execute());
  for (const id of ['CVE-1', 'CVE-2', 'CVE-3']) {
    const names = ['bad', 'bad-bulk', 'bad-swept'];
    it.osv.addRecord(
      { id },
      names.map((name) => ({ ecosystem: osv, name, versions: [asked] })),
    );
  }
  const planOf = (name: string) => [actionOf({ name, version, ecosystem })];
  return {
    ...it,
    version,
    add: (name: string) => it.addUpdate({ name, version, ecosystem, plan: planOf(name) }),
    /** Approved before its plan was known, which has come since. */
    async addAwaited(name: string) {
      const id = await it.addUpdate({ name, version, ecosystem, plan: null });
      expect((await it.approve(id)).status).toBe(202);
      await it.addPlan([id], planOf(name));
      return id;
    },
  };
}

/** A1 stops everywhere; A2 apt and dnf; A8 the sweep in every ecosystem. */
function stopOf(
  ecosystem: keyof typeof HOSTS,
  said: Said,
  by: 'operator' | 'sweep',
): { by: string; reason: string } | null {
  if (said === 'clear') return null;
  if (said === 'vulnerable') return { by: 'vulnerability', reason: 'known_vulnerability' };
  const isStopped = by === 'sweep' || ecosystem === 'apt' || ecosystem === 'dnf';
  return isStopped ? { by: 'unchecked', reason: said } : null;
}

async function traceOf({ database, platform, keyRing }: ApprovalsApp) {
  const events = await database.read.selectFrom('events').selectAll().orderBy('id').execute();
  const commands = await database.read.selectFrom('agent_commands').selectAll().execute();
  return {
    tokens: (await database.read.selectFrom('approval_updates').select('update_id').execute()).map(
      (row) => row.update_id,
    ),
    installs: commands.filter(({ action }) => action === 'install_update').flatMap(updatesOfCommand),
    signatures: keyRing.signatures,
    blocked: events
      .filter(({ type }) => type === 'approval_blocked')
      .map((row) => ({ ...row, content: JSON.parse(row.content) })),
    bulkBlocked: events
      .filter(({ type }) => type === 'bulk_approval_blocked')
      .map((row) => JSON.parse(row.content)),
    overrides: events.filter(({ type }) => type === 'supply_chain_override'),
    security: platform.lines.filter((line) => line.startsWith('[SECURITY]')),
    warnings: platform.lines.filter((line) => line.startsWith('[WARNING] supply_chain advisory ')),
    ageWarnings: platform.lines.filter((line) => line.startsWith('[WARNING] package_age ')),
  };
}

describe.each(SAMPLED_ENGINES)('the gate over HTTP on $name', (engine) => {
  // Reading a source does not depend on the engine; what is written does.
  const isFirst = engine === ENGINES[0];
  const sources = isFirst ? SOURCES : SOURCES.filter(({ mode }) => mode === 'up' || mode === 'down');
  describe.each(ECOSYSTEMS)('%s', (ecosystem) => {
    describe.each(sources)('while the source $does', ({ mode, pageSize, ...said }) => {
      test.each(['bad', 'good'] as const)('approval, preview, bulk and sweep of %s agree', async (name) => {
        const it = await setUp(engine, ecosystem, { osvMs: mode === 'hang' ? 60 : 30_000 });
        const awaited = await it.addAwaited(`${name}-swept`);
        const [single, bulked] = [await it.add(name), await it.add(`${name}-bulk`)];
        it.osv.mode = mode;
        it.osv.pageSize = pageSize ?? 1_000;
        const stop = stopOf(ecosystem, said[name], 'operator');
        const swept = stopOf(ecosystem, said[name], 'sweep');
        const verdict = {
          clear: 'clear',
          vulnerable: 'vulnerable',
          unreachable: 'unchecked',
          uncovered: 'unchecked',
        }[said[name]];

        // Preview: the verdict, minting nothing.
        const preview = await it.call('POST', `/api/v1/updates/${single}/preview`);
        expect(preview).toMatchObject({
          status: 200,
          body: {
            blocked_by: stop?.by ?? null,
            reason: stop?.reason ?? null,
            overridable: stop !== null,
            verdict,
            introduces: verdict === 'vulnerable' ? [{ id: 'CVE-1' }, { id: 'CVE-2' }, { id: 'CVE-3' }] : [],
          },
        });
        expect(await traceOf(it)).toMatchObject({ tokens: [], installs: [], signatures: 0, blocked: [] });

        // E3
        const answer = await it.approve(single);
        if (stop) {
          expect(answer).toMatchObject({ status: 409, code: 'approval_blocked', body: preview.body });
        } else {
          const warnings = verdict === 'unchecked' ? [{ code: 'closure_unchecked' }] : [];
          expect(answer).toMatchObject({ status: 200, body: { state: 'approved', warnings } });
        }

        // E4
        const bulk = await it.call('POST', '/api/v1/updates/approve', { update_ids: [bulked] });
        const { by: blocked_by, reason } = stop ?? {};
        expect(bulk).toMatchObject({
          status: 200,
          body: stop
            ? { approved: [], blocked: [{ update_id: bulked, blocked_by, reason }], skipped: [] }
            : { approved: [{ update_id: bulked }], blocked: [], skipped: [] },
        });

        // A8
        await sweepOnce(it.deps);
        expect(await findUpdate(it.database.read, awaited)).toMatchObject({
          state: swept ? 'pending' : 'approved',
          state_reason: swept ? `${swept.by}: ${swept.reason}` : null,
        });

        const minted = [...(stop ? [] : [single, bulked]), ...(swept ? [] : [awaited])].toSorted();
        const trace = await traceOf(it);
        expect(trace.tokens.toSorted()).toEqual(minted);
        expect(trace.installs.toSorted()).toEqual(minted);
        expect(trace.signatures).toBe(minted.length);
        expect(trace.overrides).toEqual([]);

        // Section 6: events and log lines, word for word.
        const stops = [
          ...(stop ? [{ id: single, actor: 'ada', name, ...stop }] : []),
          ...(swept ? [{ id: awaited, actor: 'sweep', name: `${name}-swept`, ...swept }] : []),
        ];
        expect(trace.blocked).toMatchObject(
          stops.map(({ id, actor, name: stopped, by, reason: why }) => ({
            component: 'security',
            severity: 'warning',
            actor,
            content: {
              update_id: id,
              package: { ecosystem, name: stopped, version: it.version },
              blocked_by: by,
              reason: why,
              verdict,
            },
          })),
        );
        expect(trace.bulkBlocked).toMatchObject(stop ? [{ count: 1, blocked: [{ update_id: bulked }] }] : []);
        const marker = '[SECURITY] [server] [supply_chain]';
        const line = (one: (typeof stops)[number]) =>
          `${marker} approval_blocked update_id=${one.id} package=${one.name} version=${it.version} cause="${one.by}: ${one.reason}" actor=${one.actor} ${TIME}`;
        const bulkLine = `${marker} bulk_approval_blocked count=1 actor=ada ${TIME}`;
        expect(trace.security.toSorted()).toEqual(
          [...stops.map(line), ...(stop ? [bulkLine] : [])].toSorted(),
        );
        const failed =
          /^\[WARNING\] supply_chain advisory source failed cause=("[^"]+"|\w+) packages=\d+ time=/;
        expect(trace.warnings.filter((one) => !failed.test(one))).toEqual([]);
        expect(trace.warnings.length > 0).toBe(said[name] === 'unreachable');
      });
    });

    test('A3, A4, A5: an operator with a reason passes; the token still binds the hashes, and the override is reported', async () => {
      const it = await setUp(engine, ecosystem);
      const id = await it.add('bad');
      const answer = await it.approve(id, OVERRIDE);
      expect(answer).toMatchObject({ status: 200, body: { warnings: [] } });
      const approval = JSON.parse(Buffer.from(answer.body.token.payload, 'base64').toString());
      expect(approval).toMatchObject({
        actions: [{ name: 'bad', artifact: { sha256: 'a'.repeat(64) } }],
        verdict: { vulnerability: 'vulnerable' },
        override: { by: 'ada' },
      });
      const { overrides, security } = await traceOf(it);
      expect(overrides).toHaveLength(1);
      expect(overrides[0]).toMatchObject({
        kind: 'system',
        component: 'security',
        id: approval.override.event_id,
      });
      expect(JSON.parse(overrides[0]?.content ?? '')).toMatchObject({
        package: { ecosystem, name: 'bad', version: it.version },
        cause: { blocked_by: 'vulnerability', reason: 'known_vulnerability' },
        reason: 'we looked at it',
        update_id: id,
        actor: 'ada',
      });
      expect(security).toEqual([
        `[SECURITY] [server] [supply_chain] gate_overridden update_id=${id} package=bad version=${it.version} cause="vulnerability: known_vulnerability" operator=ada ${TIME}`,
      ]);
    });

    test('a known vulnerability stays known when the source goes away, and a clear verdict eventually becomes unchecked', async () => {
      const it = await setUp(engine, ecosystem);
      const previewOf = async (id: string) => (await it.call('POST', `/api/v1/updates/${id}/preview`)).body;
      const [bad, good] = [await it.add('bad'), await it.add('good')];
      expect(await previewOf(bad)).toMatchObject({ verdict: 'vulnerable' });
      expect(await previewOf(good)).toMatchObject({ verdict: 'clear', source: 'api' });
      it.osv.mode = 'down';
      it.clock.advance(24 * HOUR_MS - 1);
      expect(await previewOf(good)).toMatchObject({
        verdict: 'clear',
        checked_at: '2026-11-21T09:00:00.000Z',
      });
      it.clock.advance(1);
      expect(await previewOf(good)).toMatchObject({ verdict: 'unchecked' });
      expect(await it.approve(bad)).toMatchObject({
        status: 409,
        body: { blocked_by: 'vulnerability', verdict: 'vulnerable' },
      });
      expect(await traceOf(it)).toMatchObject({ tokens: [], signatures: 0 });
    });

    test('reading 5: a source slower than the wait is 503 on every path, and blocks nothing permanently', async () => {
      const it = await setUp(engine, ecosystem, { waitMs: 1, osvMs: 30_000 });
      const awaited = await it.addAwaited('good-swept');
      const id = await it.add('good');
      it.osv.mode = 'hang'; // longer than any wait
      for (const door of ['preview', 'approve']) {
        const answer = await it.call('POST', `/api/v1/updates/${id}/${door}`);
        expect(answer, door).toMatchObject({ status: 503, code: 'verdict_pending' });
        expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      }
      expect((await it.call('POST', '/api/v1/updates/approve', { update_ids: [id] })).body).toMatchObject({
        approved: [],
        skipped: [{ update_id: id, code: 'verdict_pending' }],
      });
      await sweepOnce(it.deps);
      expect(await findUpdate(it.database.read, awaited)).toMatchObject({ state: 'awaiting_plan' });
      expect(await traceOf(it)).toMatchObject({ tokens: [], signatures: 0, security: [], warnings: [] });
      expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'pending', state_reason: null });
    });
  });

  test.each(['apt', 'dnf'] as const)(
    '%s: a release with empty answers is uncovered, never clear',
    async (ecosystem) => {
      const it = await setUp(engine, ecosystem);
      it.osv.covered.clear();
      const id = await it.add('good');
      expect(await it.approve(id)).toMatchObject({
        status: 409,
        body: { blocked_by: 'unchecked', reason: 'uncovered', overridable: true, verdict: 'unchecked' },
      });
      const bulk = await it.call('POST', '/api/v1/updates/approve', { update_ids: [id] });
      expect(bulk.body).toMatchObject({ approved: [], blocked: [{ reason: 'uncovered' }] });
      expect(await traceOf(it)).toMatchObject({ tokens: [], signatures: 0, warnings: [] });
      expect((await it.approve(id, OVERRIDE)).status).toBe(200);
    },
  );

  test.each(['npm', 'pypi'] as const)(
    '%s: in warn an unreachable registry leaves its warning and no hint (A7)',
    async (ecosystem) => {
      const it = await createApprovalsApp(engine);
      const id = await it.addUpdate({ name: 'good', version: '3.0.12', ecosystem });
      expect(await it.approve(id)).toMatchObject({ status: 200, body: { warnings: [] } });
      const { ageWarnings } = await traceOf(it);
      expect(ageWarnings).toHaveLength(1);
      expect(ageWarnings[0]).toMatch(/^\[WARNING\] package_age source failed (\S+ )*time=/);
    },
  );
});
