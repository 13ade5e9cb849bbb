import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import { tmpDir } from '@tidegate/testkit/tmp';
import fc from 'fast-check';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createSigstoreScene, type SigstoreScene } from '../testing/sigstore-scene.ts';
import { createBundleVerifier, readTrustedRoot } from './verify-bundle.ts';

const LONG = process.env.TIDEGATE_LONG === '1';
const LIMITS = LONG ? { numRuns: 1e9, interruptAfterTimeLimit: 60_000 } : { numRuns: 200 };
const HEX = 'ab'.repeat(64);
const HASH = { algorithm: 'sha512', hex: HEX } as const;
const REPOSITORY = 'https://git.example/left';

let scene: SigstoreScene;
let bundle: Awaited<ReturnType<SigstoreScene['bundle']>>;
beforeAll(async () => {
  scene = await createSigstoreScene();
  bundle = await scene.bundle({
    name: 'pkg:npm/left@2.0.0',
    digest: { sha512: HEX },
    repository: REPOSITORY,
  });
});

describe('provenance of an artifact', () => {
  test('a bundle under the trusted root is verified, and its certificate names where it was built', () => {
    expect(createBundleVerifier(scene.trustedRoot)(bundle, HASH)).toEqual({
      status: 'verified',
      sourceRepository: REPOSITORY,
      builder: `${REPOSITORY}/.github/workflows/release.yml@refs/heads/main`,
    });
  });

  test('without a trusted root it is unverified, and its source is unknown', () => {
    const unverified = { status: 'unverified', sourceRepository: null, builder: null };
    expect(createBundleVerifier(null)(bundle, HASH)).toEqual(unverified);
  });

  test('under a different root it does not verify', async () => {
    const other = await createSigstoreScene();
    expect(createBundleVerifier(other.trustedRoot)(bundle, HASH).status).toBe('unverified');
  });

  test.each([
    ['another hash', { algorithm: 'sha512', hex: 'cd'.repeat(64) }],
    ['a different hash algorithm', { algorithm: 'sha256', hex: HEX }],
  ] as const)('a statement for %s is a mismatch, verified or not', (_what, hash) => {
    expect(createBundleVerifier(scene.trustedRoot)(bundle, hash).status).toBe('mismatch');
    expect(createBundleVerifier(null)(bundle, hash).status).toBe('mismatch');
  });

  test('a statement that was changed after it was signed does not verify', () => {
    const payload = Buffer.from(JSON.stringify({ subject: [{ digest: { sha512: HEX } }] })).toString(
      'base64',
    );
    const forged = { ...bundle, dsseEnvelope: { ...bundle.dsseEnvelope, payload } };
    expect(createBundleVerifier(scene.trustedRoot)(forged, HASH).status).toBe('unverified');
  });

  test('a bundle without its entry in the log does not verify', () => {
    const bare = { ...bundle, verificationMaterial: { ...bundle.verificationMaterial, tlogEntries: [] } };
    expect(createBundleVerifier(scene.trustedRoot)(bare, HASH).status).toBe('unverified');
  });

  test('prototype names in a digest are ignored', () => {
    const payload = Buffer.from('{"subject":[{"digest":{"x":"y"}}]}').toString('base64');
    const forged = { ...bundle, dsseEnvelope: { ...bundle.dsseEnvelope, payload } };
    expect(createBundleVerifier(null)(forged, HASH).status).toBe('mismatch');
  });

  test(
    'no bundle makes it throw, and nothing invalid verifies',
    () => {
      const verify = createBundleVerifier(scene.trustedRoot);
      const path = fc.constantFrom('mediaType', 'verificationMaterial', 'dsseEnvelope');
      const broken = fc
        .tuple(path, fc.oneof(fc.jsonValue(), fc.constant(undefined)))
        .map(([key, value]) => ({ ...bundle, [key]: value }));
      const signature = fc.uint8Array({ maxLength: 80 }).map((bytes) => ({
        ...bundle,
        dsseEnvelope: {
          ...bundle.dsseEnvelope,
          signatures: [{ sig: Buffer.from(bytes).toString('base64'), keyid: '' }],
        },
      }));
      const certificate = fc.uint8Array({ maxLength: 300 }).map((bytes) => ({
        ...bundle,
        verificationMaterial: {
          ...bundle.verificationMaterial,
          certificate: { rawBytes: Buffer.from(bytes).toString('base64') },
        },
      }));
      const run = fc.property(fc.oneof(fc.jsonValue(), broken, signature, certificate), (json) => {
        const { status } = verify(json, HASH);
        if (JSON.stringify(json) !== JSON.stringify(bundle))
          expect(['unverified', 'mismatch']).toContain(status);
      });
      fc.assert(run, LIMITS);
    },
    LONG ? 90_000 : 20_000,
  );
});

describe('SERVICE_SIGSTORE_TRUSTED_ROOT', () => {
  function fileOf(text: string): string {
    const folder = tmpDir('tidegate-root-');
    onTestFinished(() => folder.remove());
    writeFileSync(join(folder.path, 'root.json'), text);
    return join(folder.path, 'root.json');
  }

  test('names a file that is read', () => {
    const read = readTrustedRoot(fileOf(JSON.stringify(TrustedRoot.toJSON(scene.trustedRoot))));
    expect(read.ok && createBundleVerifier(read.root)(bundle, HASH).status).toBe('verified');
    expect(readTrustedRoot(null)).toEqual({ ok: true, root: null });
  });

  test.each(['', 'no json', '[]', '{}', '{"certificateAuthorities":[{}]}', '{"tlogs":{}}'])(
    'a file with %j stops the start with one line that says what is allowed',
    (text) => {
      const read = readTrustedRoot(fileOf(text));
      expect(read.ok ? '' : read.fault).toMatch(/^SERVICE_SIGSTORE_TRUSTED_ROOT [^\n]*allowed: the path/);
    },
  );

  test('a missing file stops the start too', () => {
    expect(readTrustedRoot('/nowhere/root.json')).toMatchObject({ ok: false });
  });
});
