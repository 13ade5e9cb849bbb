import { type FakeNpmMetadata, startFakeNpmMetadata } from '@tidegate/testkit/fake-npm-metadata';
import { type FakePypiMetadata, startFakePypiMetadata } from '@tidegate/testkit/fake-pypi-metadata';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLedgerUpkeep } from '../artifacts/ledger-upkeep.ts';
import { recordArtifacts } from '../artifacts/record-artifacts.ts';
import type { Config } from '../config.ts';
import { UNKNOWN_RETRY_MS } from '../release-times/worker.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { SAMPLED_ENGINES, type TestEngine } from '../testing/engines.ts';
import { enforceDivergences } from './enforce-divergences.ts';
import { sweepOnce } from './sweep.ts';

const DAY_MS = 86_400_000;
const OVERRIDE = { override_supply_chain: true, override_reason: 'we need it' };
const NPM_HASH = 'ab'.repeat(64);
const SWAPPED_NPM_HASH = 'cd'.repeat(64);
const PYPI_HASH = 'a'.repeat(64);
const SWAPPED_PYPI_HASH = 'c'.repeat(64);
const REGISTRIES = ['npm', 'pypi'] as const;
const MODES = ['block', 'warn', 'off'] as const;
const STOPPED = {
  status: 409,
  body: {
    ...{ code: 'approval_blocked', blocked_by: 'registry', reason: 'artifact_unknown_to_registry' },
    overridable: false,
  },
};

interface Scene extends Partial<Config> {
  waitMs?: number;
}

/** One host with updates of npm or PyPI, and both registries, where `left` was released a year ago. */
async function setUp(
  engine: TestEngine,
  ecosystem: (typeof REGISTRIES)[number],
  { waitMs, ...settings }: Scene,
) {
  const npm: FakeNpmMetadata = await startFakeNpmMetadata();
  const pypi: FakePypiMetadata = await startFakePypiMetadata();
  const it = await createApprovalsApp(engine, {
    settings: { npmRegistryUrl: npm.url, pypiUrl: pypi.url, ...settings },
    ...(waitMs === undefined ? {} : { waitMs }),
  });
  onTestFinished(async () => {
    await npm.stop();
    await pypi.stop();
  });
  const uploadedAt = new Date(it.clock.now() - 365 * DAY_MS).toISOString();
  const publish = (name: string) => {
    if (ecosystem === 'npm') npm.publish(name, '2.0.0', uploadedAt, NPM_HASH);
    else pypi.publish(name, '2.0.0', [{ filename: `${name}.whl`, sha256: PYPI_HASH, uploadedAt }]);
  };
  publish('left');
  const digest = (swapped: boolean) =>
    ecosystem === 'npm'
      ? { sha512: swapped ? SWAPPED_NPM_HASH : NPM_HASH }
      : { sha256: swapped ? SWAPPED_PYPI_HASH : PYPI_HASH };
  const action = (name: string, swapped: boolean) =>
    actionOf({
      ...{ ecosystem, name, version: '2.0.0' },
      fields: {
        artifact: {
          filename: `${name}.whl`,
          url: 'https://mirror.example/x',
          size_bytes: 1,
          ...digest(swapped),
        },
      },
    });
  return {
    ...it,
    ...{ npm, pypi, publish },
    registry: ecosystem === 'npm' ? npm : pypi,
    hash: ecosystem === 'npm' ? SWAPPED_NPM_HASH : SWAPPED_PYPI_HASH,
    add: (given: { swapped?: boolean; dependency?: string; name?: string; state?: string } = {}) => {
      const { swapped = false, dependency, name = 'left', state = 'pending' } = given;
      const plan = [action(name, dependency === undefined && swapped)];
      if (dependency !== undefined) plan.push(action(dependency, swapped));
      return it.addUpdate({ ecosystem, name, version: '2.0.0', state, plan });
    },
    /** Another host got the swapped file. */
    claimSwapped: (agentId: string) =>
      it.database.transact((tx) =>
        recordArtifacts(tx, it.platform, { agentId, ecosystem, actions: [action('left', true)] }),
      ),
    async stateOf(id: string) {
      const row = await it.database.read
        .selectFrom('updates')
        .select(['state', 'state_reason'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      return [row.state, row.state_reason];
    },
  };
}

describe.each(SAMPLED_ENGINES)('an artifact that its registry does not have, on $name', (engine) => {
  describe.each(REGISTRIES)('%s', (ecosystem) => {
    test('a hash confirmed by the registry outranks hosts, however many they are', async () => {
      const it = await setUp(engine, ecosystem, {});
      const id = await it.add();
      const divergences = () =>
        it.database.read.selectFrom('artifact_divergences').select(['state', 'settled_by']).execute();
      for (const n of [11, 12, 13])
        await it.claimSwapped((await insertTestAgent(it.database, { n })).agentId);
      expect(await divergences()).toEqual([{ state: 'decided', settled_by: 'quorum' }]);
      // The registry is queried before the update is judged.
      expect((await it.approve(id)).status).toBe(200);
      await createLedgerUpkeep(it.platform).settleSome();
      expect(await divergences()).toEqual([{ state: 'decided', settled_by: 'registry' }]);
      await enforceDivergences(it.deps);
      expect((await it.stateOf(id))[0]).toBe('approved');
    });

    test.each(MODES)(
      '%s: a swapped file blocks, and neither an override nor an age exception passes it',
      async (gateEnforcement) => {
        const it = await setUp(engine, ecosystem, { gateEnforcement });
        const id = await it.add({ swapped: true });
        const expires_at = new Date(it.clock.now() + DAY_MS).toISOString();
        const exception = { ecosystem, name: 'left', version: '2.0.0', reason: 'ours', expires_at };
        expect((await it.call('POST', '/api/v1/admin/age-exceptions', exception)).status).toBe(201);
        for (const body of [undefined, OVERRIDE]) expect(await it.approve(id, body)).toMatchObject(STOPPED);
        const { body } = await it.call('POST', `/api/v1/updates/${id}/preview`);
        expect(body.unknown_artifacts).toEqual([
          {
            ...{ package: 'left', version: '2.0.0', hash: it.hash, source: it.registry.url },
            algorithm: ecosystem === 'npm' ? 'sha512' : 'sha256',
          },
        ]);
        it.publish('right');
        expect((await it.approve(await it.add({ name: 'right' }))).status).toBe(200);
      },
    );

    test('a swapped dependency blocks, in bulk and for the sweep too', async () => {
      const it = await setUp(engine, ecosystem, {});
      it.publish('dep');
      const id = await it.add({ dependency: 'dep', swapped: true });
      const bulk = await it.call('POST', '/api/v1/updates/approve', { update_ids: [id] });
      expect(bulk.body).toMatchObject({
        approved: [],
        blocked: [{ update_id: id, blocked_by: 'registry', unknown_artifacts: [{ package: 'dep' }] }],
      });
      const waiting = await it.add({ name: 'dep', swapped: true, state: 'awaiting_plan' });
      await sweepOnce(it.deps);
      expect(await it.stateOf(waiting)).toEqual(['pending', 'registry: artifact_unknown_to_registry']);
    });

    test('a version passes once the registry lists it', async () => {
      const it = await setUp(engine, ecosystem, {});
      if (ecosystem === 'npm') it.npm.publish('late', '1.0.0', '2026-01-01T00:00:00Z', NPM_HASH);
      else {
        const uploadedAt = '2026-01-01T00:00:00Z';
        const filename = 'late-1.0.0-py3-none-any.whl';
        it.pypi.publish('late', '1.0.0', [{ filename, sha256: PYPI_HASH, uploadedAt }]);
      }
      const id = await it.add({ name: 'late' });
      expect(await it.approve(id)).toMatchObject(STOPPED);
      it.publish('late');
      it.clock.advance(UNKNOWN_RETRY_MS);
      expect((await it.approve(id)).status).toBe(200);
    });

    test('a package unknown to the registry has an unknown age: it may be private', async () => {
      const it = await setUp(engine, ecosystem, { gateEnforcement: 'block' });
      const id = await it.add({ name: 'ours' });
      const unknown = { status: 409, body: { blocked_by: 'age', reason: 'unknown_age' } };
      expect(await it.approve(id)).toMatchObject(unknown);
    });

    test.each(MODES)(
      '%s: nothing is minted before the registry has answered; a failed one proves nothing about hashes',
      async (gateEnforcement) => {
        const it = await setUp(engine, ecosystem, { gateEnforcement, waitMs: 20 });
        const swapped = await it.add({ swapped: true });
        const release = it.registry.hold();
        const pending = { status: 503, code: 'verdict_pending' };
        expect(await it.approve(swapped)).toMatchObject(pending);
        expect(await it.approve(swapped, OVERRIDE)).toMatchObject(pending);
        release();
        await expect.poll(() => it.approve(swapped)).toMatchObject(STOPPED);
        it.registry.mode = 'down';
        const other = await it.add({ name: 'other' });
        const down =
          gateEnforcement === 'block' ? { status: 409, body: { reason: 'unknown_age' } } : { status: 200 };
        await expect.poll(() => it.approve(other)).toMatchObject(down);
      },
    );
  });

  test('npm: an unpublished version is blocked, although its release time remains', async () => {
    const it = await setUp(engine, 'npm', {});
    it.npm.unpublish('left', '2.0.0');
    expect(await it.approve(await it.add())).toMatchObject(STOPPED);
  });

  test('PyPI: a swapped wheel is not judged by the age of the other files', async () => {
    const it = await setUp(engine, 'pypi', { gateEnforcement: 'block' });
    const uploadedAt = new Date(it.clock.now() - 365 * DAY_MS).toISOString();
    it.pypi.publish('left', '2.0.0', [
      { filename: 'left.tar.gz', sha256: 'e'.repeat(64), uploadedAt },
      { filename: 'left-cp313.whl', sha256: 'f'.repeat(64), uploadedAt },
    ]);
    expect(await it.approve(await it.add({ swapped: true }))).toMatchObject(STOPPED);
  });
});
