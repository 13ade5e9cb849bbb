import { type FakeNpmMetadata, startFakeNpmMetadata } from '@tidegate/testkit/fake-npm-metadata';
import { type FakePypiMetadata, startFakePypiMetadata } from '@tidegate/testkit/fake-pypi-metadata';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Config } from '../config.ts';
import { UNKNOWN_RETRY_MS } from '../release-times/worker.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { SAMPLED_ENGINES, type TestEngine } from '../testing/engines.ts';
import { sweepOnce } from './sweep.ts';

const HOUR_MS = 3_600_000;
const OVERRIDE = { override_supply_chain: true, override_reason: 'we need it' };
const AGED = ['npm', 'pypi'] as const;

/** One host with an update of a package of npm or PyPI, and both registries. */
async function setUp(
  engine: TestEngine,
  ecosystem: (typeof AGED)[number],
  { waitMs, registryMs, ...settings }: Partial<Config> & { waitMs?: number; registryMs?: number } = {},
) {
  const npm: FakeNpmMetadata = await startFakeNpmMetadata();
  const pypi: FakePypiMetadata = await startFakePypiMetadata();
  const it = await createApprovalsApp(engine, {
    settings: { gateEnforcement: 'block', npmRegistryUrl: npm.url, pypiUrl: pypi.url, ...settings },
    ...(waitMs === undefined ? {} : { waitMs }),
    ...(registryMs === undefined ? {} : { registryMs }),
  });
  // The registries stop last: anything that still queries them ends first.
  onTestFinished(async () => {
    await npm.stop();
    await pypi.stop();
  });
  const registry = ecosystem === 'npm' ? npm : pypi;
  const sha256 = 'a'.repeat(64);
  return {
    ...it,
    pypi,
    registry,
    /** Publishes a version this many hours ago. */
    publish(name: string, version: string, hours: number) {
      const at = new Date(it.clock.now() - hours * HOUR_MS).toISOString();
      if (ecosystem === 'npm') npm.publish(name, version, at);
      else pypi.publish(name, version, [{ filename: `${name}.pkg`, sha256, uploadedAt: at }]);
    },
    add: (name = 'left', version = '2.0.0', others: readonly string[] = []) =>
      it.addUpdate({
        ecosystem,
        name,
        version,
        plan: [name, ...others].map((one) => actionOf({ ecosystem, name: one, version })),
      }),
  };
}

describe.each(SAMPLED_ENGINES)('the age gate over HTTP (A7) on $name', (engine) => {
  describe.each(AGED)('%s', (ecosystem) => {
    test.each([
      ['just as old as the minimum', 72, 200],
      ['older', 73, 200],
      ['a little younger', 71.99, 409],
    ])('block: %s', async (_what, hours, status) => {
      const it = await setUp(engine, ecosystem);
      it.publish('left', '2.0.0', hours);
      const answer = await it.approve(await it.add());
      expect(answer.status).toBe(status);
      if (status === 409) {
        const at = new Date(it.clock.now() - hours * HOUR_MS).toISOString();
        expect(answer.body).toMatchObject({
          code: 'approval_blocked',
          blocked_by: 'age',
          reason: 'too_young',
          overridable: false,
          age: {
            violations: [{ package: 'left', version: '2.0.0', published_at: at, age_hours: hours }],
            times: [{ package: 'left', version: '2.0.0', published_at: at, source: it.registry.url }],
          },
        });
      }
    });

    test('block: a young dependency that is new to the host blocks, and no override passes it', async () => {
      const it = await setUp(engine, ecosystem);
      it.publish('left', '2.0.0', 1_000);
      it.publish('dep', '2.0.0', 1);
      const id = await it.add('left', '2.0.0', ['dep']);
      for (const body of [undefined, OVERRIDE]) {
        const violations = [{ package: 'dep', age_hours: 1 }];
        expect(await it.approve(id, body)).toMatchObject({
          status: 409,
          body: { blocked_by: 'age', overridable: false, age: { violations } },
        });
      }
    });

    test('block: a version missing from the registry has an unknown age until it appears', async () => {
      const it = await setUp(engine, ecosystem);
      const id = await it.add();
      const unknown = { status: 409, body: { blocked_by: 'age', reason: 'unknown_age' } };
      expect(await it.approve(id)).toMatchObject(unknown);
      it.publish('left', '2.0.0', 100);
      expect(await it.approve(id)).toMatchObject(unknown);
      it.clock.advance(UNKNOWN_RETRY_MS);
      expect((await it.approve(id)).status).toBe(200);
    });

    test('block: a release time in the future is unknown_age', async () => {
      const it = await setUp(engine, ecosystem);
      it.publish('left', '2.0.0', -1);
      expect(await it.approve(await it.add())).toMatchObject({
        status: 409,
        body: { reason: 'unknown_age', age: { violations: [{ published_at: null, age_hours: null }] } },
      });
    });

    test.each(['down', 'failing', 'garbage', 'redirect', 'endless'] as const)(
      'block: a registry that is %s blocks with unknown_age, which no override passes',
      async (mode) => {
        const it = await setUp(engine, ecosystem, mode === 'endless' ? { registryMs: 300 } : {});
        it.publish('left', '2.0.0', 1_000);
        it.registry.mode = mode;
        const id = await it.add();
        for (const body of [undefined, OVERRIDE]) {
          expect(await it.approve(id, body)).toMatchObject({
            status: 409,
            body: { blocked_by: 'age', reason: 'unknown_age', overridable: false },
          });
        }
      },
    );

    test('block: not fetched yet is 503 verdict_pending, in preview too; a time fetched after a failure counts', async () => {
      const it = await setUp(engine, ecosystem, { waitMs: 20 });
      it.publish('left', '2.0.0', 1_000);
      const id = await it.add();
      const release = it.registry.hold();
      expect(await it.approve(id)).toMatchObject({ status: 503, code: 'verdict_pending' });
      expect(await it.approve(id, OVERRIDE)).toMatchObject({ status: 503, code: 'verdict_pending' });
      expect((await it.call('POST', `/api/v1/updates/${id}/preview`)).status).toBe(503);
      release();
      await expect.poll(async () => (await it.approve(id)).status).toBe(200);
    });

    test('block: a hanging registry blocks with unknown_age after its timeout', async () => {
      const it = await setUp(engine, ecosystem, { registryMs: 60 });
      it.registry.mode = 'hang';
      const id = await it.add();
      expect(await it.approve(id)).toMatchObject({ status: 409, body: { reason: 'unknown_age' } });
    });

    test('warn: a failed fetch fails open with [WARNING] and package_age, a young version is shown', async () => {
      const it = await setUp(engine, ecosystem, { gateEnforcement: 'warn' });
      it.registry.mode = 'failing';
      expect(await it.approve(await it.add())).toMatchObject({ status: 200, body: { warnings: [] } });
      expect(it.platform.lines.some((line) => /^\[WARNING\].*package_age/.test(line))).toBe(true);
      it.registry.mode = 'up';
      it.publish('right', '2.0.0', 1);
      expect(await it.approve(await it.add('right'))).toMatchObject({
        status: 200,
        body: { warnings: [{ code: 'age_violation' }] },
      });
    });

    test('off: the age of a version is ignored', async () => {
      const it = await setUp(engine, ecosystem, { gateEnforcement: 'off' });
      it.publish('left', '2.0.0', 1);
      expect(await it.approve(await it.add())).toMatchObject({ status: 200, body: { warnings: [] } });
    });

    test('an exception passes exactly its version, until it ends', async () => {
      const it = await setUp(engine, ecosystem);
      it.publish('left', '2.0.0', 1);
      it.publish('left', '2.0.1', 1);
      const expires_at = new Date(it.clock.now() + HOUR_MS).toISOString();
      const body = { ecosystem, name: 'left', version: '2.0.0', reason: 'fixes a hole', expires_at };
      expect((await it.call('POST', '/api/v1/admin/age-exceptions', body)).status).toBe(201);
      expect((await it.approve(await it.add('left', '2.0.1'))).status).toBe(409);
      const second = await it.add();
      expect((await it.call('POST', `/api/v1/updates/${second}/preview`)).body.blocked_by).toBeNull();
      it.clock.advance(HOUR_MS);
      expect((await it.approve(second)).status).toBe(409);
    });

    test('neither an exception nor an override of the age passes a malicious package (MAL-)', async () => {
      const it = await setUp(engine, ecosystem, { vulnerabilityPolicy: 'introduced' });
      it.publish('left', '2.0.0', 1);
      const scope = ecosystem === 'npm' ? 'npm' : 'PyPI';
      it.vulnerable({ id: 'MAL-2026-1', ecosystem: scope, name: 'left', version: '2.0.0' });
      const expires_at = new Date(it.clock.now() + HOUR_MS).toISOString();
      const body = { ecosystem, name: 'left', version: '2.0.0', reason: 'ours', expires_at };
      expect((await it.call('POST', '/api/v1/admin/age-exceptions', body)).status).toBe(201);
      expect(await it.approve(await it.add())).toMatchObject({
        status: 409,
        body: { blocked_by: 'vulnerability', introduces: [{ id: 'MAL-2026-1' }] },
      });
    });

    test('bulk and sweep use the same ages', async () => {
      const it = await setUp(engine, ecosystem);
      it.publish('old', '2.0.0', 100);
      it.publish('young', '2.0.0', 1);
      const [old, young] = [await it.add('old'), await it.add('young')];
      const bulk = await it.call('POST', '/api/v1/updates/approve', { update_ids: [old, young] });
      expect(bulk.body).toMatchObject({
        approved: [{ update_id: old }],
        blocked: [{ update_id: young, blocked_by: 'age', reason: 'too_young', age: { minimum_hours: 72 } }],
      });
      it.publish('younger', '2.0.0', 0.5);
      const waiting = await it.addUpdate({
        ecosystem,
        name: 'younger',
        version: '2.0.0',
        state: 'awaiting_plan',
      });
      await sweepOnce(it.deps);
      const row = await it.database.read
        .selectFrom('updates')
        .select(['state', 'state_reason'])
        .where('id', '=', waiting)
        .executeTakeFirst();
      expect(row).toEqual({ state: 'pending', state_reason: 'age: too_young' });
    });
  });

  test('a PyPI exception covers every spelling of the name (PEP 503), and its end is an event', async () => {
    const it = await setUp(engine, 'pypi');
    it.publish('some-pkg', '2.0.0', 1);
    const expires_at = new Date(it.clock.now() + HOUR_MS).toISOString();
    const body = { ecosystem: 'pypi', name: 'Some_Pkg', version: '2.0.0', reason: 'ours', expires_at };
    const { id } = (await it.call('POST', '/api/v1/admin/age-exceptions', body)).body;
    const update = await it.add('some.pkg');
    const preview = async () => (await it.call('POST', `/api/v1/updates/${update}/preview`)).body.blocked_by;
    expect(await preview()).toBeNull();
    expect((await it.call('DELETE', `/api/v1/admin/age-exceptions/${id}`)).status).toBe(204);
    expect(await preview()).toBe('age');
    const { content } = await it.database.read
      .selectFrom('events')
      .select('content')
      .where('type', '=', 'age_exception_ended')
      .executeTakeFirstOrThrow();
    expect(JSON.parse(content)).toEqual({
      exception_id: id,
      package: { ecosystem: 'pypi', name: 'Some_Pkg', version: '2.0.0' },
      actor: 'ada',
    });
    // It has ended already: no second event.
    expect((await it.call('DELETE', `/api/v1/admin/age-exceptions/${id}`)).status).toBe(404);
  });

  test('bulk waits once for all: updates without an answer by then are skipped as verdict_pending', async () => {
    const it = await setUp(engine, 'npm', { waitMs: 30 });
    const ids = [await it.add('a'), await it.add('b'), await it.add('c')];
    it.registry.hold();
    const { body } = await it.call('POST', '/api/v1/updates/approve', { update_ids: ids });
    expect(body.skipped.map(({ code }: { code: string }) => code)).toEqual(Array(3).fill('verdict_pending'));
  });

  test('a failed registry does not affect the other', async () => {
    const it = await setUp(engine, 'npm', { waitMs: 50 });
    it.registry.mode = 'down';
    it.pypi.hold();
    const npm = await it.add('a');
    const pypi = await it.addUpdate({ ecosystem: 'pypi', name: 'b', version: '2.0.0' });
    const stopped = { status: 409, body: { reason: 'unknown_age' } };
    await expect.poll(() => it.approve(npm)).toMatchObject(stopped); // not known yet is 503, as below
    expect(await it.approve(pypi)).toMatchObject({ status: 503, code: 'verdict_pending' });
    const { body } = await it.call('POST', '/api/v1/updates/approve', { update_ids: [npm, pypi] });
    expect(body.blocked).toMatchObject([{ update_id: npm, reason: 'unknown_age' }]);
    expect(body.skipped).toEqual([{ update_id: pypi, code: 'verdict_pending' }]);
  });
});
