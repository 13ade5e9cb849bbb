import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chown, lchown, lstat, open, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { type Identity, runProgram } from '../../run-program.ts';
import type { FetchOutcome, HostPaths } from '../ecosystem.ts';
import { readArchiveFiles } from './artifacts.ts';
import { archiveFilename } from './parse-uris.ts';
import { aptEnvironment, FIXED_OPTIONS, pin, withAptSession } from './session.ts';

/** A large transaction over a slow line. */
const DOWNLOAD_TIMEOUT_MS = 60 * 60_000;
const DOWNLOAD_OUTPUT_MAX_BYTES = 4 * 1024 * 1024;
/** Most that one plan may fetch, in bytes. */
export const FETCH_MAX_BYTES = 16 * 1024 ** 3;

/** A file that a plan names. */
export interface Expected {
  name: string;
  arch: string;
  version: string;
  filename: string;
  sizeBytes: number;
  sha256: string;
}

/**
 * Downloads the files of an approved plan into `directory`, never as root, and hashes each against the plan. Before
 * the first byte the host's signed indexes must name the same sizes and hashes. What does not match is removed.
 */
export async function fetchActions(
  paths: HostPaths,
  { actions, directory }: { actions: readonly PlanAction[]; directory: string },
): Promise<FetchOutcome> {
  const expected: Expected[] = [];
  for (const action of actions) {
    if (action.action === 'remove') continue;
    const file = expectedFile(action);
    if (file === null) return { ok: false, reason: `artifact_mismatch: ${action.name}` };
    expected.push(file);
  }
  if (expected.length === 0) return { ok: true };
  const lack = await findLackOfSpace(expected, directory);
  if (lack !== null) return { ok: false, reason: lack };

  const identity = await downloadIdentity();
  const agreed = await withAptSession(paths, (session) => compareIndexes(session, expected), { identity });
  if (!agreed.ok) return agreed;
  if (identity !== null) await chown(directory, identity.uid, identity.gid);
  try {
    const options = [
      '-o',
      'Acquire::Retries=2',
      '-o',
      'Dir::Cache::pkgcache=',
      '-o',
      'Dir::Cache::srcpkgcache=',
    ];
    const download = await runProgram({
      program: 'apt-get',
      args: [...FIXED_OPTIONS, ...options, '-q', 'download', ...expected.map(pin)],
      timeoutMs: DOWNLOAD_TIMEOUT_MS,
      maxOutputBytes: DOWNLOAD_OUTPUT_MAX_BYTES,
      onOverflow: 'keep_tail',
      env: aptEnvironment(paths),
      identity,
      cwd: directory,
    });
    if (!download.ok) {
      // apt has seen it first: the file is not the one of its index.
      const mismatch = download.stderr.split('\n').find((line) => line.includes('Hash Sum mismatch'));
      return { ok: false, reason: mismatch ? `artifact_mismatch: ${mismatch}` : download.detail };
    }
  } finally {
    if (identity !== null) await takeBack(directory);
  }
  return checkFiles(directory, expected);
}

function expectedFile(action: PlanAction): Expected | null {
  const { name, arch, to_version: version, artifact } = action;
  if (!arch || !version || !artifact?.sha256) return null;
  // The executor can use a file only under the name that apt looks for.
  if (artifact.filename !== archiveFilename({ name, version, arch })) return null;
  return {
    name,
    arch,
    version,
    filename: artifact.filename,
    sizeBytes: artifact.size_bytes,
    sha256: artifact.sha256,
  };
}

async function findLackOfSpace(expected: readonly Expected[], directory: string): Promise<string | null> {
  const total = expected.reduce((sum, file) => sum + file.sizeBytes, 0);
  if (total > FETCH_MAX_BYTES) return `the plan would fetch ${total} bytes, more than ${FETCH_MAX_BYTES}`;
  const { bavail, bsize } = await statfs(directory);
  return total > bavail * bsize ? `the plan needs ${total} bytes where ${bavail * bsize} are free` : null;
}

async function compareIndexes(
  session: Parameters<typeof readArchiveFiles>[0],
  expected: readonly Expected[],
): Promise<FetchOutcome> {
  const files = await readArchiveFiles(session, expected);
  if (!files.ok) return files;
  const named = [...files.value.values()];
  for (const { filename, sizeBytes, sha256, name } of expected) {
    const same = named.some(
      (f) => f.filename === filename && f.sizeBytes === sizeBytes && f.sha256 === sha256,
    );
    if (!same) return { ok: false, reason: `artifact_mismatch: ${name}` };
  }
  return { ok: true };
}

/** Root downloads as apt's own sandbox user, or else as nobody; everybody else as himself. */
async function downloadIdentity(): Promise<Identity | null> {
  if (process.getuid?.() !== 0) return null;
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const user = users.find(([name]) => name === '_apt') ?? users.find(([name]) => name === 'nobody');
  const [uid, gid] = [Number(user?.[2] ?? 65_534), Number(user?.[3] ?? 65_534)];
  return uid > 0 ? { uid, gid } : { uid: 65_534, gid: 65_534 };
}

/** The folder first: from then on nobody else can put another file in the place of one. */
async function takeBack(directory: string): Promise<void> {
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  await chown(directory, uid, gid);
  for (const name of await readdir(directory)) await lchown(join(directory, name), uid, gid);
}

/** Leaves exactly the files of the plan, each a plain file with its size and SHA-256, or names the first that is not. */
export async function checkFiles(directory: string, expected: readonly Expected[]): Promise<FetchOutcome> {
  const wanted = new Set(expected.map(({ filename }) => filename));
  for (const name of await readdir(directory)) {
    if (!wanted.has(name)) await rm(join(directory, name), { recursive: true, force: true });
  }
  for (const file of expected) {
    if (await isIntact(join(directory, file.filename), file)) continue;
    await rm(join(directory, file.filename), { recursive: true, force: true });
    return { ok: false, reason: `artifact_mismatch: ${file.name}` };
  }
  return { ok: true };
}

/** Whether the file is a plain one with this size and hash; links are not followed. */
async function isIntact(path: string, { sizeBytes, sha256 }: Expected): Promise<boolean> {
  const entry = await lstat(path).catch(() => null);
  if (!entry?.isFile() || entry.nlink !== 1 || entry.size !== sizeBytes) return false;
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const hash = createHash('sha256');
    for await (const chunk of handle.createReadStream({ autoClose: false })) hash.update(chunk);
    return hash.digest('hex') === sha256;
  } finally {
    await handle.close();
  }
}
