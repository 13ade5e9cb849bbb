import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { packTarball } from '@tidegate/testkit/npm-tarball';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import type { NpmAction } from './actions.ts';
import { type Carrier, findBundled } from './bundled.ts';
import { type LockEntry, parseLockfile } from './lockfile.ts';

const lock = parseLockfile(
  JSON.stringify({
    lockfileVersion: 3,
    packages: {
      'node_modules/kit': { version: '2.0.0' },
      'node_modules/kit/node_modules/inner': { version: '1.0.0', inBundle: true },
    },
  }),
);
const entryAt = (location: string): LockEntry => {
  const entry = lock.ok ? lock.value.entries.get(location) : undefined;
  if (entry === undefined) throw new Error(location);
  return entry;
};
const kit = entryAt('node_modules/kit');
const inner: NpmAction = {
  action: { action: 'install', name: 'inner', to_version: '1.0.0' },
  entry: entryAt('node_modules/kit/node_modules/inner'),
  bundler: kit,
};

/** Looks for `inner` in a tarball of `kit` that bundles these. */
async function find(bundled: readonly { name: string; version: string; at?: string }[] | Buffer) {
  using dir = tmpDir();
  const path = join(dir.path, 'kit.tgz');
  const bytes = Buffer.isBuffer(bundled) ? bundled : packTarball({ name: 'kit', version: '2.0.0', bundled });
  writeFileSync(path, bytes);
  const sha512 = createHash('sha512').update(bytes).digest('hex');
  const artifact = { filename: 'kit.tgz', url: 'https://r.test/kit', size_bytes: bytes.length, sha512 };
  const action: PlanAction = { action: 'install', name: 'kit', to_version: '2.0.0', artifact };
  const carriers = new Map<LockEntry, Carrier>([[kit, { action, artifact, path }]]);
  return {
    artifact,
    found: await findBundled([{ ...inner }, { action, entry: kit, bundler: null }], carriers),
  };
}

test('a bundled package has the file of the package around it, and names that package', async () => {
  const { artifact, found } = await find([{ name: 'inner', version: '1.0.0' }]);
  expect(found.ok && [...found.value]).toEqual([
    [inner.action, { source_name: 'kit', source_version: '2.0.0', artifact }],
  ]);
});

test.each<[string, Parameters<typeof find>[0], string]>([
  ['nothing', [], 'does not contain the expected'],
  ['another version', [{ name: 'inner', version: '1.0.1' }], 'does not contain the expected'],
  [
    'another package there',
    [{ name: 'other', version: '1.0.0', at: 'inner' }],
    'does not contain the expected',
  ],
  [
    'it elsewhere',
    [{ name: 'inner', version: '1.0.0', at: 'a/node_modules/inner' }],
    'does not contain the expected',
  ],
  [
    'a version that cannot be judged',
    [{ name: 'inner', version: '^1.0.0' }],
    'does not contain the expected',
  ],
  ['what cannot be read', Buffer.from('no gzip at all'), 'cannot be unpacked'],
])('no plan is made where the file holds %s', async (_title, bundled, reason) => {
  const { found } = await find(bundled);
  expect(found).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
});

test('no plan is made where the plan does not bring the file', async () => {
  expect(await findBundled([inner], new Map())).toMatchObject({
    ok: false,
    reason: expect.stringContaining('a file that is not in the plan'),
  });
});
