import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { proxyVariables } from '../../platform/proxy.ts';
import {
  findProgram,
  type Identity,
  type OutputListener,
  PROGRAM_FOLDERS,
  type ProgramResult,
  runProgram,
} from '../../platform/run-program.ts';
import type { HostPaths } from '../ecosystem.ts';
import { removeAsUser, transferFolder } from '../folder-ownership.ts';

export const PUBLIC_REGISTRY = 'https://registry.npmjs.org/';
/** npm fetches hundreds of documents; that takes minutes on a slow connection. */
const NPM_TIMEOUT_MS = 15 * 60_000;
/** `npm ls` of 20,000 packages is about 4 MB. */
const NPM_OUTPUT_MAX_BYTES = 64 * 1024 * 1024;
/** Folders of a manually installed npm, before those of the distribution. */
const NPM_FOLDERS = ['/usr/local/bin', ...PROGRAM_FOLDERS];

/** CA certificates trusted by the host's administrator, in addition to node's own. */
const HOST_CERTIFICATES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
];

/** npm runs that share one private cache. */
export interface NpmSession {
  /** Ends in a slash. */
  readonly registry: string;
  /** npm's private cache. */
  readonly cache: string;
  /** The user npm runs as; null for this process's user. */
  readonly identity: Identity | null;
  /** Creates a folder with these files, owned by the user npm runs as. */
  makeFolder(files: Readonly<Record<string, string>>): Promise<string>;
  run(args: readonly string[], options: RunOptions): Promise<ProgramResult>;
}

interface RunOptions {
  cwd: string;
  onOverflow?: 'keep_tail';
  onOutput?: OutputListener | undefined;
  /** Runs as this process's user, to read protected files; never to query a registry. */
  isOwn?: boolean;
}

export interface SessionOptions {
  identity?: Identity | null;
  /** Uses the cache alone. */
  isOffline?: boolean;
  /** Fills the cache before any other user can access it. */
  fill?: (cache: string) => Promise<void>;
}

/** Opens a session in a private folder, removed when it closes. No user configuration is read. */
export async function withNpmSession<T>(
  paths: HostPaths,
  work: (session: NpmSession) => Promise<T>,
  { identity = null, isOffline = false, fill }: SessionOptions = {},
): Promise<T> {
  const program = await findNpm();
  const root = await mkdtemp(join(tmpdir(), 'tidegate-npm-'));
  const given: string[] = [];
  // This process keeps the parent of the folder it gives away, so nobody can replace it by a link.
  const give = async (folder: string) => {
    given.push(folder);
    await transferFolder(folder, identity);
  };
  try {
    const [cache, home] = [join(root, 'cache'), join(root, 'home')];
    for (const folder of [cache, home]) await mkdir(folder, { mode: 0o700 });
    await fill?.(cache);
    for (const folder of [cache, home]) await give(folder);
    const registry = registryOf(paths);
    const options = [...fixedOptions({ root, cache, registry }), ...(isOffline ? ['--offline'] : [])];
    for (const name of ['empty-user', 'empty-global']) await writeFile(join(root, name), '', { mode: 0o644 });
    await chmod(root, 0o711);
    return await work({
      registry,
      cache,
      identity,
      makeFolder: async (files) => {
        const folder = await mkdtemp(join(root, 'work-'));
        for (const [name, text] of Object.entries(files)) {
          await writeFile(join(folder, name), text, { flag: 'wx' });
        }
        await give(folder);
        return folder;
      },
      run: ([command = '', ...args], { cwd, isOwn = false, ...limits }) =>
        runProgram({
          program: program ?? 'npm',
          args: [command, ...options, ...args],
          timeoutMs: NPM_TIMEOUT_MS,
          maxOutputBytes: NPM_OUTPUT_MAX_BYTES,
          env: {
            ...{ PATH: searchPath(program), HOME: home },
            // Node reads every certificate when it starts, a tenth of the time of a run; without a registry none is needed.
            ...(isOffline || isOwn ? {} : trustOfHost()),
            ...proxyVariables(),
          },
          identity: isOwn ? null : identity,
          cwd,
          ...limits,
        }),
    });
  } finally {
    if (identity !== null) await removeAsUser(identity, given);
    await rm(root, { recursive: true, force: true });
  }
}

/** The host's own npm; null where npm, or the node that it runs on, is missing. */
export async function findNpm(): Promise<string | null> {
  const npm = await findIn(NPM_FOLDERS, 'npm');
  return npm !== null && (await findIn(searchPath(npm).split(delimiter), 'node')) !== null ? npm : null;
}

async function findIn(folders: readonly string[], name: string): Promise<string | null> {
  for (const folder of folders) {
    const found = await findProgram(join(folder, name));
    if (found !== null) return found;
  }
  return null;
}

/** npm is a script that finds node in PATH: the one beside it comes first. */
function searchPath(npm: string | null): string {
  return [...new Set([...(npm === null ? [] : [dirname(npm)]), ...NPM_FOLDERS])].join(delimiter);
}

/** A company registry often uses a private CA that the host trusts. */
function trustOfHost(): Record<string, string> {
  const bundle = HOST_CERTIFICATES.find((path) => existsSync(path));
  return bundle === undefined ? {} : { NODE_EXTRA_CA_CERTS: bundle };
}

export function registryOf({ npm }: HostPaths): string {
  return (npm.registry ?? PUBLIC_REGISTRY).replace(/\/*$/, '/');
}

/**
 * Overrides of every npmrc and variable: command-line options take precedence. Each of them affects what npm
 * resolves, which registry it uses or what it runs.
 */
function fixedOptions({
  root,
  cache,
  registry,
}: {
  root: string;
  cache: string;
  registry: string;
}): string[] {
  return [
    `--userconfig=${join(root, 'empty-user')}`,
    `--globalconfig=${join(root, 'empty-global')}`,
    `--cache=${cache}`,
    `--registry=${registry}`,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
    '--logs-max=0',
    '--loglevel=error',
    '--no-progress',
    '--no-color',
    '--no-legacy-peer-deps',
    '--no-strict-peer-deps',
    '--no-prefer-dedupe',
    '--no-force',
    '--no-omit-lockfile-registry-resolved', // keeps `resolved`
    '--bin-links',
    '--package-lock',
    '--fetch-retries=1',
    '--fetch-retry-mintimeout=1000',
    '--fetch-retry-maxtimeout=5000',
    '--fetch-timeout=60000',
  ];
}

const NAME = /^(?:@[a-zA-Z0-9~-][a-zA-Z0-9._~-]*\/)?[a-zA-Z0-9~][a-zA-Z0-9._~-]*$/;
const VERSION = /^\d{1,16}\.\d{1,16}\.\d{1,16}(?:-[0-9A-Za-z.-]{1,128})?(?:\+[0-9A-Za-z.-]{1,64})?$/;
const NAME_MAX_CHARS = 214;

/** Whether this is a package name and an exact version; npm reads neither as a range, path or option. */
export function isSafeArgument({ name, version }: { name: string; version: string }): boolean {
  return isName(name) && VERSION.test(version);
}

export function isName(name: string): boolean {
  return name.length <= NAME_MAX_CHARS && NAME.test(name);
}

/** Root queries registries as nobody; other users as themselves. */
export async function unprivileged(): Promise<Identity | null> {
  if (process.getuid?.() !== 0) return null;
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const nobody = users.find(([name]) => name === 'nobody');
  const [uid, gid] = [Number(nobody?.[2] ?? 65_534), Number(nobody?.[3] ?? 65_534)];
  return uid > 0 ? { uid, gid } : { uid: 65_534, gid: 65_534 };
}
