import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { NpmPackage } from '@tidegate/testkit/npm-packages';
import { packTarball, tarEntry } from '@tidegate/testkit/npm-tarball';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, test } from 'vitest';
import { placeOf, readStaged } from '../ecosystems/npm/staged.ts';
import { BUNDLED_MAX_PACKAGES, readTarball } from '../ecosystems/npm/tarball.ts';
import { findOpenFolder, findOwner, groupOf } from './npm-owner.ts';

const PACKAGE: NpmPackage = { name: '@s/a', version: '1.0.0', scripts: { postinstall: 'x' } };
const INNER = { name: 'inner', version: '1.0.0' };
const SHA512 = 'a'.repeat(128);

describe('a tarball', () => {
  const read = (bytes: Uint8Array, maxBytes?: number) => {
    const dir = tmpDir();
    const path = join(dir.path, 'a.tgz');
    writeFileSync(path, bytes);
    return readTarball(path, maxBytes).finally(dir.remove);
  };

  test('names its package', async () => {
    const deep = `node_modules/${'d'.repeat(60)}`;
    const bundled = [
      { name: 'b', version: '2.0.0' },
      { name: 'deep', version: '3.0.0', at: `@s/c/${deep}/${deep}` },
    ];
    const read1 = await read(packTarball({ ...PACKAGE, bundled }));
    expect(read1).toMatchObject({ ok: true, facts: { hasShrinkwrap: false, hasGyp: false } });
    expect(read1.ok && JSON.parse(read1.facts.manifest)).toMatchObject({ name: '@s/a', version: '1.0.0' });
    const inside = read1.ok ? [...read1.facts.bundled] : [];
    expect(inside.map(([at, text]) => [at, JSON.parse(text).version])).toEqual([
      ['node_modules/b', '2.0.0'],
      [`node_modules/@s/c/${deep}/${deep}`, '3.0.0'], // too long for a header: npm writes it into one of its own
    ]);
  });

  const unpacked = gunzipSync(packTarball(PACKAGE));
  const archive = unpacked.subarray(0, unpacked.length - 1_024);
  const end = Buffer.alloc(1_024);
  const badSize = Buffer.from(archive);
  badSize.write('9999999', 124);

  test.each<[string, Uint8Array, RegExp]>([
    ['that is no gzip', Buffer.from('no gzip at all'), /cannot be unpacked/],
    ['that is cut off', packTarball(PACKAGE).subarray(0, 100), /cannot be unpacked/],
    ['whose archive ends in a file', gzipSync(archive.subarray(0, 600)), /in the middle/],
    ['without a package.json', gzipSync(end), /no package\.json/],
    ['with two package.json', gzipSync(Buffer.concat([archive, archive, end])), /two package\.json/],
    ['with a damaged header', gzipSync(badSize), /damaged header/],
    [
      'with two package.json of one bundled package',
      packTarball({ ...PACKAGE, bundled: [INNER, INNER] }),
      /two package\.json at node_modules\/inner/,
    ],
    [
      'that bundles more packages than are read',
      packTarball({
        ...PACKAGE,
        bundled: Array.from({ length: BUNDLED_MAX_PACKAGES + 1 }, (_, i) => ({ ...INNER, at: `i${i}` })),
      }),
      /bundles more than/,
    ],
    [
      'with an extended header that says another size',
      gzipSync(Buffer.concat([...tarEntry('PaxHeader/x', Buffer.from('11 size=99\n'), 'x'), archive, end])),
      /damaged header/,
    ],
    [
      'with an extended header that is too long',
      gzipSync(Buffer.concat([...tarEntry('PaxHeader/x', Buffer.alloc(70_000), 'x'), archive, end])),
      /larger than/,
    ],
  ])('%s is refused', async (_title, bytes, reason) => {
    expect(await read(bytes)).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
  });

  test('ignores links, folders and headers with a wrong length', async () => {
    const header = (text: string) => tarEntry('PaxHeader/x', Buffer.from(text), 'x');
    const inner = Buffer.from(JSON.stringify(INNER));
    const path = 'package/node_modules/inner/package.json';
    const odd = gzipSync(
      Buffer.concat([
        archive,
        ...tarEntry(path, Buffer.alloc(0), '2'),
        ...tarEntry('package/node_modules/inner/', Buffer.alloc(0), '5'),
        ...header(`7 path=${path}\n`),
        ...tarEntry('package/x', inner),
        end,
      ]),
    );
    const read1 = await read(odd);
    expect(read1.ok && [...read1.facts.bundled]).toEqual([]);
    const long = gzipSync(
      Buffer.concat([
        archive,
        ...tarEntry('@LongLink', Buffer.from(`${path}\0`), 'L'),
        ...tarEntry('x', inner),
        end,
      ]),
    );
    const read2 = await read(long);
    expect(read2.ok && [...read2.facts.bundled.keys()]).toEqual(['node_modules/inner']);
  });

  test('that unpacks to more than the limit is abandoned', async () => {
    const bomb = gzipSync(Buffer.concat([archive, Buffer.alloc(2 * 1024 * 1024)]));
    expect(bomb.length).toBeLessThan(10_000);
    expect(await read(bomb, 1024 * 1024)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('more than'),
    });
    expect(await read(bomb)).toMatchObject({ ok: true });
  });
});

describe('the staged files of an approval', () => {
  const action: PlanAction = {
    ...{ action: 'install', name: '@s/a', arch: '/p', to_version: '1.0.0' },
    artifact: { filename: 'a.tgz', url: 'https://r.test/a.tgz', size_bytes: 1, sha512: SHA512 },
  };

  test.each<[string, Partial<PlanAction>, NpmPackage]>([
    ['another name', {}, { ...PACKAGE, name: '@s/b' }],
    ['another version', {}, { ...PACKAGE, version: '1.0.1' }],
    [
      'no SHA-512',
      { artifact: { filename: 'a.tgz', url: 'https://r.test/a', size_bytes: 1, sha256: 'a'.repeat(64) } },
      PACKAGE,
    ],
    [
      'no address of a registry',
      { artifact: { filename: 'a.tgz', url: 'file:/etc/passwd', size_bytes: 1, sha512: SHA512 } },
      PACKAGE,
    ],
    ['a name that is an option', { name: '--global' }, PACKAGE],
  ])('with %s are refused', async (_title, wrong, pkg) => {
    using stage = tmpDir();
    writeFileSync(join(stage.path, 'a.tgz'), packTarball(pkg));
    expect(await readStaged([{ ...action, ...wrong }], stage.path)).toMatchObject({ ok: false });
  });

  test('are read once for each package, with their scripts', async () => {
    using stage = tmpDir();
    writeFileSync(join(stage.path, 'a.tgz'), packTarball(PACKAGE));
    const again = { ...action, arch: '/p//node_modules/x/node_modules/@s/a' };
    const staged = await readStaged([action, again], stage.path);
    expect(staged).toMatchObject({ ok: true, value: [{ name: '@s/a', hasScripts: true }] });
    const other = {
      ...again,
      artifact: { filename: 'a.tgz', url: 'https://r.test/a', size_bytes: 1, sha512: 'b'.repeat(128) },
    };
    expect(await readStaged([action, other], stage.path)).toMatchObject({ ok: false });
  });

  test('contain their bundled packages, or are refused', async () => {
    using stage = tmpDir();
    const bundled = [{ ...INNER, scripts: { install: 'x' } }];
    writeFileSync(join(stage.path, 'a.tgz'), packTarball({ ...PACKAGE, bundled }));
    const inner = {
      ...{ ...action, name: 'inner', arch: '/p//node_modules/@s/a/node_modules/inner' },
      ...{ source_name: '@s/a', source_version: '1.0.0' },
    };
    const staged = await readStaged([inner, action], stage.path);
    // npm must not come to think that the registry has a package in that file.
    expect(staged).toMatchObject({
      ok: true,
      value: [{ name: '@s/a', bundled: [{ key: 'inner@1.0.0', hasScripts: true }] }],
    });
    for (const wrong of [{ to_version: '1.0.1' }, { name: 'other' }]) {
      const refused = await readStaged([{ ...inner, ...wrong }, action], stage.path);
      expect(refused).toMatchObject({ ok: false, reason: expect.stringContaining('does not hold') });
    }
    expect(await readStaged([{ ...inner, source_version: '1.0.1' }, action], stage.path)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('another package'),
    });
  });

  test.each<[string[], boolean]>([
    [['/p', '/p//node_modules/a/node_modules/b'], true],
    [['/p', '/q'], false],
    [['/p', '/p/x'], false],
    [[], false],
  ])('of %j are about one place: %s', (archs, ok) => {
    expect(placeOf(archs.map((arch) => ({ ...action, arch }))).ok).toBe(ok);
  });
});

describe('the user that acts in a location', () => {
  const folder = (path: string, uid: number, mode: number) => ({ path, uid, mode: 0o040000 | mode });

  test.each([
    ['all are root’s', [folder('/', 0, 0o755), folder('/usr', 0, 0o755)], null],
    ['the group can write', [folder('/', 0, 0o755), folder('/usr', 0, 0o775)], '/usr'],
    [
      'everybody can write, sticky or not',
      [folder('/', 0, 0o755), folder('/tmp', 0, 0o1777), folder('/tmp/x', 0, 0o700)],
      '/tmp',
    ],
    [
      'one above is a user’s',
      [folder('/', 0, 0o755), folder('/home/u', 1_000, 0o755), folder('/home/u/x', 0, 0o755)],
      '/home/u',
    ],
  ])('of root’s, where %s: open is %s', (_title, chain, open) => {
    const fault = findOpenFolder(chain);
    expect(fault).toBe(open === null ? null : `${open} can be written by others than root`);
  });

  test('is in the group of its owner, not of the folder', () => {
    expect(groupOf(1_000, 'root:x:0:0::/:/bin/sh\nu:x:1000:1001::/home/u:/bin/sh\n')).toBe(1_001);
    expect(groupOf(2_000, 'root:x:0:0::/:/bin/sh\n')).toBe(65_534);
  });

  test('is none if the location leads through a link or is below a world-writable folder', () => {
    using dir = tmpDir();
    mkdirSync(join(dir.path, 'real'));
    symlinkSync('real', join(dir.path, 'link'));
    const through = findOwner({ kind: 'project', path: join(dir.path, 'link') });
    expect(through).toMatchObject({ ok: false, reason: expect.stringContaining('link') });
    expect(findOwner({ kind: 'project', path: join(dir.path, 'absent') })).toMatchObject({ ok: false });
    const below = findOwner({ kind: 'project', path: join(dir.path, 'real') });
    // A place of root's own below /tmp is one that another user could have put there.
    expect(below.ok).toBe(process.getuid?.() !== 0);
  });
});
