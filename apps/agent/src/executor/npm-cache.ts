import { createHash } from 'node:crypto';
import { appendFile, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cachedPath } from '../ecosystems/npm/cached-files.ts';
import { integrityOf } from '../ecosystems/npm/integrity.ts';
import type { StagedPackage } from './npm-staged.ts';

/** How npm asks for what a registry has of a package: some releases in the one form, some in the other. */
const ACCEPTED = [
  'application/json',
  'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*',
];
/** Members of a package.json that npm resolves, lays out or links by. */
const MEMBERS = [
  ...['name', 'version', 'dependencies', 'optionalDependencies', 'peerDependencies', 'peerDependenciesMeta'],
  ...['bundleDependencies', 'bundledDependencies', 'bin', 'directories', 'engines', 'os', 'cpu', 'libc'],
];

/**
 * Makes npm's cache the whole world: the approved files, and for each package a registry's document that knows the
 * approved versions and no other, in the words of the files themselves. npm then resolves among nothing else.
 */
export async function fillCache(
  cache: string,
  registry: string,
  staged: readonly StagedPackage[],
): Promise<void> {
  for (const { path, artifact } of staged) {
    const target = cachedPath(cache, artifact.sha512);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await copyFile(path, target);
  }
  const byName = Map.groupBy(staged, ({ name }) => name);
  for (const [name, versions] of byName) {
    await putDocument(cache, `${registry}${name.replace('/', '%2f')}`, documentOf(name, versions));
  }
}

function documentOf(name: string, staged: readonly StagedPackage[]): string {
  const versions = staged.map(({ version, manifest, hasShrinkwrap, artifact }) => [
    version,
    {
      ...Object.fromEntries(Object.entries(manifest).filter(([key]) => MEMBERS.includes(key))),
      ...(hasShrinkwrap && { _hasShrinkwrap: true }),
      dist: { tarball: artifact.url, integrity: integrityOf(artifact.sha512) },
    },
  ]);
  const latest = staged.map(({ version }) => version).find((version) => !version.includes('-'));
  const tags = { latest: latest ?? staged[0]?.version };
  return JSON.stringify({
    _id: name,
    name,
    'dist-tags': tags,
    versions: Object.fromEntries(versions),
    time: {},
  });
}

/** Writes an answer to a request that was never made, in the form of npm's cache (index 5, content 2). */
async function putDocument(cache: string, url: string, text: string): Promise<void> {
  const sha512 = createHash('sha512').update(text).digest('hex');
  const content = cachedPath(cache, sha512);
  await mkdir(dirname(content), { recursive: true, mode: 0o700 });
  await writeFile(content, text);
  const key = `make-fetch-happen:request-cache:${url}`;
  const hashed = createHash('sha256').update(key).digest('hex');
  const bucket = join(cache, '_cacache', 'index-v5', hashed.slice(0, 2), hashed.slice(2, 4), hashed.slice(4));
  await mkdir(dirname(bucket), { recursive: true, mode: 0o700 });
  for (const accept of ACCEPTED) {
    const entry = JSON.stringify({
      key,
      integrity: integrityOf(sha512),
      time: Date.now(),
      size: Buffer.byteLength(text),
      metadata: {
        time: Date.now(),
        url,
        reqHeaders: { accept },
        resHeaders: { 'content-type': 'application/json' },
        options: { compress: true },
      },
    });
    await appendFile(bucket, `\n${createHash('sha1').update(entry).digest('hex')}\t${entry}`);
  }
}
