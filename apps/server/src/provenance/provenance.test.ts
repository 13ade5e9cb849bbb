import type { SerializedBundle } from '@sigstore/bundle';
import { startFakeNpmMetadata } from '@tidegate/testkit/fake-npm-metadata';
import { startFakePypiMetadata } from '@tidegate/testkit/fake-pypi-metadata';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { saveReleaseTimes } from '../release-times/store.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createSigstoreScene, type SigstoreScene, SLSA } from '../testing/sigstore-scene.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { ATTESTATIONS_MAX_BYTES, createProvenanceClient } from './fetch-provenance.ts';
import type { ProvenanceSubject } from './provenance-rules.ts';
import { createBundleVerifier } from './verify-bundle.ts';
import { createProvenanceWorker } from './worker.ts';

const SHA512 = 'ab'.repeat(64);
const SHA256 = 'cd'.repeat(32);
const REPOSITORY = 'https://git.example/left';
const WHEEL = 'left-2.0.0-py3-none-any.whl';

let scene: SigstoreScene;
let npmBundle: SerializedBundle;
let pypiBundle: SerializedBundle;
beforeAll(async () => {
  scene = await createSigstoreScene();
  npmBundle = await scene.bundle({
    name: 'pkg:npm/left@2.0.0',
    digest: { sha512: SHA512 },
    repository: REPOSITORY,
  });
  pypiBundle = await scene.bundle({ name: WHEEL, digest: { sha256: SHA256 }, repository: REPOSITORY });
});

/** The same in PEP 740's form. */
function pep740(...bundles: SerializedBundle[]): unknown {
  const attestations = bundles.map(({ verificationMaterial, dsseEnvelope }) => ({
    version: 1,
    verification_material: {
      certificate: verificationMaterial.certificate?.rawBytes,
      transparency_entries: verificationMaterial.tlogEntries,
    },
    envelope: { statement: dsseEnvelope?.payload, signature: dsseEnvelope?.signatures[0]?.sig },
  }));
  return { version: 1, attestation_bundles: [{ publisher: { kind: 'x' }, attestations }] };
}

async function setUp(engine: TestEngine, { registryMs = 30_000 } = {}) {
  const npm = await startFakeNpmMetadata();
  const pypi = await startFakePypiMetadata();
  const it = await createApprovalsApp(engine, {
    settings: { gateEnforcement: 'off', npmRegistryUrl: npm.url, pypiUrl: pypi.url },
    trustedRoot: scene.trustedRoot,
    registryMs,
  });
  onTestFinished(async () => {
    await npm.stop();
    await pypi.stop();
  });
  // Release facts of the files are stored: registries are queried only for provenance.
  const known = { name: 'left', version: '2.0.0', source: npm.url, fetched_at: it.platform.now() };
  const said = { ...known, published_at: 1, standing: 'confirmed' as const };
  await it.database.transact((tx) =>
    saveReleaseTimes(tx, [
      { ...said, ecosystem: 'npm', artifact: SHA512 },
      { ...said, ecosystem: 'pypi', artifact: SHA256 },
    ]),
  );
  const id = async (ecosystem: 'npm' | 'pypi', from_version = '1.0.0') => {
    const artifact = {
      filename: ecosystem === 'npm' ? 'left-2.0.0.tgz' : WHEEL,
      url: 'https://x',
      size_bytes: 1,
    };
    const hash = ecosystem === 'npm' ? { sha512: SHA512 } : { sha256: SHA256 };
    const fields = { from_version, artifact: { ...artifact, ...hash } };
    const plan = [actionOf({ ecosystem, name: 'left', version: '2.0.0', fields })];
    return it.addUpdate({ ecosystem, name: 'left', version: '2.0.0', plan });
  };
  return {
    ...it,
    npm,
    pypi,
    id,
    /** The preview once everything was fetched. */
    async shown(update: string) {
      await it.call('POST', `/api/v1/updates/${update}/preview`);
      await it.provenance.idle();
      return (await it.call('POST', `/api/v1/updates/${update}/preview`)).body.provenance;
    },
  };
}

const VERIFIED = {
  package: 'left',
  version: '2.0.0',
  status: 'verified',
  source_repository: REPOSITORY,
  builder: `${REPOSITORY}/.github/workflows/release.yml@refs/heads/main`,
  dropped: false,
};

describe.each(ENGINES)('provenance at the gate on $name', (engine) => {
  test('npm: attestations that verify for the hash of the plan are shown with their source', async () => {
    const it = await setUp(engine);
    it.npm.attest('left', '2.0.0', [
      { predicateType: 'https://github.com/npm/attestation/tree/main/specs/publish/v0.1', bundle: {} },
      { predicateType: SLSA, bundle: npmBundle },
    ]);
    const id = await it.id('npm');
    expect((await it.call('POST', `/api/v1/updates/${id}/preview`)).body.provenance).toEqual([
      { package: 'left', version: '2.0.0', status: 'unknown', dropped: false },
    ]);
    expect(await it.shown(id)).toEqual([VERIFIED]);
    expect(it.npm.requests.toSorted()).toEqual([
      '/-/npm/v1/attestations/left@1.0.0',
      '/-/npm/v1/attestations/left@2.0.0',
    ]);
  });

  test('PyPI: attestations of PEP 740 of exactly the file', async () => {
    const it = await setUp(engine);
    it.pypi.publish('left', '2.0.0', [
      { filename: WHEEL, sha256: SHA256, uploadedAt: undefined, provenance: pep740(pypiBundle) },
    ]);
    expect(await it.shown(await it.id('pypi'))).toEqual([VERIFIED]);
  });

  test('npm: provenance that the installed version has and the new one lacks is a warning, never a stop', async () => {
    const it = await setUp(engine);
    it.npm.attest('left', '1.0.0', [{ predicateType: SLSA, bundle: npmBundle }]);
    const id = await it.id('npm');
    expect(await it.shown(id)).toEqual([
      { package: 'left', version: '2.0.0', status: 'absent', dropped: true },
    ]);
    expect(await it.approve(id)).toMatchObject({
      status: 200,
      body: { warnings: [{ code: 'provenance_dropped' }] },
    });
  });

  test('PyPI: the same, from the index of the project', async () => {
    const it = await setUp(engine);
    const file = { sha256: SHA256, uploadedAt: undefined };
    it.pypi.publish('left', '1.0.0', [
      { ...file, filename: 'left-1.0.0.tar.gz', provenance: pep740(pypiBundle) },
    ]);
    it.pypi.publish('left', '2.0.0', [{ ...file, filename: WHEEL }]);
    const id = await it.id('pypi');
    expect(await it.shown(id)).toMatchObject([{ status: 'absent', dropped: true }]);
    expect((await it.approve(id)).body.warnings).toMatchObject([{ code: 'provenance_dropped' }]);
  });

  test('if neither version has any, nothing was dropped', async () => {
    const it = await setUp(engine);
    const id = await it.id('npm');
    expect(await it.shown(id)).toMatchObject([{ status: 'absent', dropped: false }]);
    expect((await it.approve(id)).body.warnings).toEqual([]);
  });

  test('attestations for different bytes than those of the plan are a mismatch and a warning', async () => {
    const it = await setUp(engine);
    const other = await scene.bundle({ name: 'pkg:npm/left@2.0.0', digest: { sha512: '00'.repeat(64) } });
    it.npm.attest('left', '2.0.0', [{ predicateType: SLSA, bundle: other }]);
    const id = await it.id('npm');
    expect(await it.shown(id)).toMatchObject([{ status: 'mismatch' }]);
    expect(await it.approve(id)).toMatchObject({
      status: 200,
      body: { warnings: [{ code: 'provenance_mismatch' }] },
    });
  });

  test.each(['down', 'failing', 'hang', 'garbage', 'redirect', 'endless'] as const)(
    'a registry that is %s delays no approval: the provenance is unknown',
    async (mode) => {
      const it = await setUp(engine, mode === 'hang' || mode === 'endless' ? { registryMs: 300 } : {});
      it.npm.mode = mode;
      const release = it.npm.hold();
      const id = await it.id('npm');
      // Until it is released the registry does not answer.
      expect(await it.approve(id)).toMatchObject({ status: 200, body: { warnings: [] } });
      release();
      await it.provenance.idle();
      expect((await it.gateOf(id))?.provenance).toMatchObject([{ status: 'unknown', dropped: false }]);
      expect(it.npm.requests.some((path) => path.startsWith('/redirected'))).toBe(false);
      expect(it.platform.lines.some((line) => /^\[WARNING\] supply_chain provenance/.test(line))).toBe(true);
    },
  );

  test('a registry is queried once, and again after a while if it failed', async () => {
    const it = await setUp(engine);
    it.npm.mode = 'garbage';
    const id = await it.id('npm');
    await it.shown(id);
    await it.shown(id);
    expect(it.npm.requests).toHaveLength(2);
    it.npm.mode = 'up';
    it.npm.attest('left', '2.0.0', [{ predicateType: SLSA, bundle: npmBundle }]);
    it.clock.advance(15 * 60_000);
    expect(await it.shown(id)).toEqual([VERIFIED]);
    it.clock.advance(365 * 24 * 3_600_000);
    const asked = it.npm.requests.length;
    await it.shown(id);
    // A verified result is final; only the version on the host, which has none, is queried again.
    expect(it.npm.requests.slice(asked)).toEqual(['/-/npm/v1/attestations/left@1.0.0']);
  });

  test('a registry that fails takes away nothing of what it said before, and is queried again after a while', async () => {
    const it = await setUp(engine);
    const other = await scene.bundle({ name: 'pkg:npm/left@2.0.0', digest: { sha512: '00'.repeat(64) } });
    it.npm.attest('left', '2.0.0', [{ predicateType: SLSA, bundle: other }]);
    const id = await it.id('npm');
    const warned = [{ status: 'mismatch' }];
    expect(await it.shown(id)).toMatchObject(warned);
    it.npm.mode = 'garbage';
    it.clock.advance(25 * 3_600_000);
    expect(await it.shown(id)).toMatchObject(warned);
    const asked = it.npm.requests.length;
    expect(await it.shown(id)).toMatchObject(warned);
    expect(it.npm.requests).toHaveLength(asked);
    it.npm.mode = 'up';
    it.npm.attest('left', '2.0.0', [{ predicateType: SLSA, bundle: npmBundle }]);
    it.clock.advance(15 * 60_000);
    expect(await it.shown(id)).toEqual([VERIFIED]);
  });

  test('apt has none: no query and nothing shown', async () => {
    const it = await setUp(engine);
    expect(await it.shown(await it.addUpdate())).toEqual([]);
    expect([...it.npm.requests, ...it.pypi.requests]).toEqual([]);
  });
});

describe('asking for provenance', () => {
  const of = (name: string, filename = WHEEL): ProvenanceSubject => ({
    ecosystem: 'pypi',
    name,
    version: '2.0.0',
    artifact: { filename, hash: { algorithm: 'sha256', hex: SHA256 } },
  });

  async function clientOf() {
    const pypi = await startFakePypiMetadata();
    const client = createProvenanceClient({
      config: { npmRegistryUrl: pypi.url, pypiUrl: pypi.url },
      verify: createBundleVerifier(scene.trustedRoot),
      timeoutMs: 15_000,
      sleep: async () => {},
    });
    onTestFinished(async () => {
      await client.close();
      await pypi.stop();
    });
    return { pypi, client };
  }

  test.each([
    of('..'),
    of('a/b'),
    of('left', '../x'),
    of('left', '..'),
    { ...of('left'), version: '../..' },
    { ...of('../left'), ecosystem: 'npm' as const },
    { ...of('left'), ecosystem: 'npm' as const, version: '1/2' },
  ])('$ecosystem $name $version is unsafe in a path: no query', async (subject) => {
    const { client, pypi } = await clientOf();
    expect(await client.ask(subject)).toMatchObject({ provenance: { status: 'unknown' } });
    expect(pypi.requests).toEqual([]);
  });

  test.each([
    ['an answer that is too long', ' '.repeat(ATTESTATIONS_MAX_BYTES + 1)],
    ['an answer that is nested too deep', `${'['.repeat(100)}${']'.repeat(100)}`],
    ['an answer with __proto__', '{"__proto__":{},"attestation_bundles":[]}'],
    ['no JSON', 'no'],
  ])('%s is unknown, with the cause', async (_what, text) => {
    const { client, pypi } = await clientOf();
    pypi.answerRaw(`/integrity/left/2.0.0/${WHEEL}/provenance`, text);
    const { provenance, cause } = await client.ask(of('left'));
    expect(provenance.status).toBe('unknown');
    expect(cause).not.toBeNull();
  });

  test('sixteen attestations of one artifact are examined', async () => {
    const { client, pypi } = await clientOf();
    const other = await scene.bundle({ name: WHEEL, digest: { sha256: '00'.repeat(32) } });
    const answer = (before: number) =>
      JSON.stringify(pep740(...Array.from({ length: before }, () => other), pypiBundle));
    const path = `/integrity/left/2.0.0/${WHEEL}/provenance`;
    pypi.answerRaw(path, answer(15));
    expect((await client.ask(of('left'))).provenance.status).toBe('verified');
    pypi.answerRaw(path, answer(16));
    expect((await client.ask(of('left'))).provenance.status).toBe('mismatch');
  });

  test.each(ENGINES)('queries past the queue limit are dropped ($name)', async (engine) => {
    const { client, pypi } = await clientOf();
    const platform = createTestPlatform(await engine.open());
    const worker = createProvenanceWorker({ platform, client, queueMax: 3 });
    onTestFinished(() => worker.stop());
    worker.want(Array.from({ length: 10 }, (_, i) => of(`p${i}`)));
    await worker.idle();
    expect(pypi.requests).toHaveLength(3);
    worker.want([of('later')]);
    await worker.idle();
    expect(pypi.requests).toHaveLength(4);
  });
});
