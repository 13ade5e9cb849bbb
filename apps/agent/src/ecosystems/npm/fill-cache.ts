import { createHash } from 'node:crypto';
import { appendFile, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { compareVersions } from '@tidegate/versions';
import { cachedPath } from './cached-files.ts';
import { integrityOf } from './integrity.ts';
import type { KnownVersion } from './known.ts';
import type { StagedPackage } from './staged.ts';

/** The Accept headers of npm's packument requests: which one npm sends depends on npm's release. */
const ACCEPTED = [
  'application/json',
  'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*',
];
/** Members of a package.json that npm resolves, lays out or links by. */
const MEMBERS = [
  ...['name', 'version', 'dependencies', 'optionalDependencies', 'peerDependencies', 'peerDependenciesMeta'],
  ...[
    'bundleDependencies',
    'bundledDependencies',
    'bin',
    'directories',
    'engines',
    'os',
    'cpu',
    'libc',
    '_hasShrinkwrap',
  ],
];

/**
 * Fills npm's cache with all it may use: the approved files, and for each package a packument with the approved
 * versions, taken from the files themselves, and the installed ones. npm resolves among nothing else.
 */
export async function fillCache(
  cache: string,
  registry: string,
  { staged, known }: { staged: readonly StagedPackage[]; known: readonly KnownVersion[] },
): Promise<void> {
  for (const { path, artifact } of staged) {
    const target = cachedPath(cache, artifact.sha512);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await copyFile(path, target);
  }
  // Approved versions come last and override equal installed versions.
  const byName = Map.groupBy([...known, ...staged.map(toKnown)], ({ name }) => name);
  for (const [name, versions] of byName) {
    await putDocument(cache, `${registry}${name.replace('/', '%2f')}`, documentOf(name, versions));
  }
}

function toKnown({ name, version, manifest, hasShrinkwrap, artifact }: StagedPackage): KnownVersion {
  const dist = { tarball: artifact.url, integrity: integrityOf(artifact.sha512) };
  return { name, version, manifest: { ...manifest, ...(hasShrinkwrap && { _hasShrinkwrap: true }) }, dist };
}

function documentOf(name: string, known: readonly KnownVersion[]): string {
  const versions = known.map(({ version, manifest, dist }) => [
    version,
    { ...Object.fromEntries(Object.entries(manifest).filter(([key]) => MEMBERS.includes(key))), dist },
  ]);
  const latest = newest(known.map(({ version }) => version));
  return JSON.stringify({
    ...{ _id: name, name, 'dist-tags': { latest }, versions: Object.fromEntries(versions), time: {} },
  });
}

/** The newest release, or the newest pre-release when there is none. */
function newest(versions: readonly string[]): string | undefined {
  const releases = versions.filter((version) => !version.includes('-'));
  const candidates = releases.length > 0 ? releases : versions;
  return candidates.toSorted((a, b) => (compareVersions('npm', a, b) === 1 ? 1 : -1)).at(-1);
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
