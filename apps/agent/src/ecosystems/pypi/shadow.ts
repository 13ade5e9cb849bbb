import { chmod, lchown, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { proxyVariables } from '../../platform/proxy.ts';
import { type Identity, type ProgramResult, runProgram } from '../../platform/run-program.ts';
import { removeAsUser, transferFolder } from '../folder-ownership.ts';
import type { Interpreter } from './interpreter.ts';
import type { CoreMetadata } from './parse-metadata.ts';

/** Enough for a resolver that backtracks often, over a slow connection. */
const PIP_TIMEOUT_MS = 10 * 60_000;
/** A report contains the full description of every package. */
const PIP_OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

/** Overrides of user configuration: nothing is inherited, nothing is built, no check is disabled. */
export const PIP_OPTIONS = [
  ...['--isolated', '--no-input', '--disable-pip-version-check', '--no-cache-dir', '--no-color'],
  ...['--retries=2', '--timeout=30'],
];

/**
 * A folder that looks to pip like the place: the metadata of each distribution without any code. pip resolves
 * against it as in the place, without running a file of the place.
 */
export interface Shadow {
  /** A folder that pip's user can read and only this process can write. */
  readonly folder: string;
  /** The host's pip alone in a folder: run by an interpreter that sees the place itself. */
  readonly pip: string;
  /** A folder owned by pip's user. */
  readonly scratch: string;
  /**
   * Writes a requirements file that only pip's user can read, as an index URL may contain a password. Returns its
   * path.
   */
  addRequirements(text: string): Promise<string>;
  run(args: readonly string[], limits?: { timeoutMs: number }): Promise<ProgramResult>;
}

export interface ShadowOptions {
  interpreter: Interpreter;
  distributions: readonly CoreMetadata[];
  /** The user pip runs as; only root can choose. */
  identity: Identity | null;
}

/** Creates a shadow; removed when it closes. */
export async function withShadow<T>(
  { interpreter, distributions, identity }: ShadowOptions,
  work: (shadow: Shadow) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'tidegate-pip-'));
  const scratch = join(folder, 'scratch');
  try {
    await chmod(folder, 0o755);
    const site = join(folder, 'site');
    await mkdir(scratch, { mode: 0o700 });
    await transferFolder(scratch, identity);
    await makeReadable(site);
    await symlink(interpreter.pip, join(site, 'pip'));
    const tool = join(folder, 'tool');
    await makeReadable(tool);
    await symlink(interpreter.pip, join(tool, 'pip'));
    for (const distribution of distributions) await addDistribution(site, distribution);
    let asked = 0;
    return await work({
      ...{ folder, pip: join(tool, 'pip'), scratch },
      addRequirements: async (text) => {
        const file = join(folder, `requirements-${++asked}.txt`);
        await writeFile(file, text, { flag: 'wx', mode: 0o600 });
        if (identity !== null) await lchown(file, identity.uid, identity.gid); // in a folder of our own
        return file;
      },
      run: (args, { timeoutMs } = { timeoutMs: PIP_TIMEOUT_MS }) =>
        runProgram({
          program: interpreter.python,
          args: ['-I', '-S', join(site, 'pip'), ...args],
          timeoutMs,
          maxOutputBytes: PIP_OUTPUT_MAX_BYTES,
          env: { ...pipEnvironment(scratch), ...proxyVariables() },
          identity,
          cwd: scratch,
        }),
    });
  } finally {
    if (identity !== null) await removeAsUser(identity, [scratch]);
    await rm(folder, { recursive: true, force: true });
  }
}

/** An environment in which pip reads no configuration file, neither a user's nor the system's. */
export function pipEnvironment(scratch: string): Record<string, string> {
  return { PIP_CONFIG_FILE: '/dev/null', HOME: scratch, TMPDIR: scratch, PYTHONDONTWRITEBYTECODE: '1' };
}

/** Writes a distribution from parsed metadata: no unparsed name or text is copied. */
async function addDistribution(site: string, distribution: CoreMetadata): Promise<void> {
  const { name, version, requires, extras } = distribution;
  const info = join(site, `${name.replaceAll('-', '_')}-${version}.dist-info`);
  await makeReadable(info);
  const lines = [
    ...['Metadata-Version: 2.1', `Name: ${name}`, `Version: ${version}`],
    ...extras.map((extra) => `Provides-Extra: ${extra}`),
    ...requires.map((requirement) => `Requires-Dist: ${requirement}`),
  ];
  await writeReadable(join(info, 'METADATA'), `${lines.join('\n')}\n\n`);
  await writeReadable(join(info, 'INSTALLER'), 'pip\n');
}

async function makeReadable(folder: string): Promise<void> {
  await mkdir(folder);
  await chmod(folder, 0o755);
}

/** Writes a file that every user can read, whatever the umask is. */
async function writeReadable(file: string, content: string): Promise<void> {
  await writeFile(file, content, { flag: 'wx' });
  await chmod(file, 0o644);
}
