import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { errorCode } from '../../platform/file-layer.ts';
import {
  type Identity,
  type OutputListener,
  type ProgramResult,
  runProgram,
} from '../../platform/run-program.ts';
import { removeAsUser, transferFolder } from '../folder-ownership.ts';
import { DNF4_PROGRAM } from './dnf4-program.ts';
import { DNF5_PROGRAM } from './dnf5-program.ts';
import { openKeptCache } from './kept-cache.ts';
import type { DnfPlaces, Parsed } from './places.ts';

/** Enough for large metadata over a slow connection and a slow resolver. */
const DNF_TIMEOUT_MS = 10 * 60_000;
/** 20,000 packages with their updates take about 10 MB. */
const DNF_OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

export type DnfWork = 'scan' | 'ages' | 'plan' | 'undo' | 'look_up' | 'fetch' | 'simulate' | 'install';

export interface RunLimits {
  timeoutMs?: number;
  maxOutputBytes?: number;
  onOverflow?: 'fail' | 'keep_tail';
  onOutput?: OutputListener | undefined;
}

/** Queries to dnf that share a private folder. */
export interface DnfSession {
  readonly places: DnfPlaces;
  readonly identity: Identity | null;
  /** Runs a dnf request; the answer is its output. */
  ask(work: DnfWork, request: Record<string, unknown>, limits?: RunLimits): Promise<ProgramResult>;
  /** Paths of files that the session's user can read: copies where that user is another one. */
  lend(paths: readonly string[]): Promise<Parsed<string[]>>;
  /** Runs rpm on the database of this host. */
  rpm(args: readonly string[], limits: { timeoutMs: number; maxOutputBytes: number }): Promise<ProgramResult>;
}

/**
 * Opens a session in a private folder, removed when it closes. `identity` is the user dnf runs as; only root can
 * choose. Users other than root cache repository metadata in their own folder; `keptCache` replaces that folder.
 */
export async function withDnfSession<T>(
  places: DnfPlaces,
  identity: Identity | null,
  work: (session: DnfSession) => Promise<T>,
  keptCache: string | null = null,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'tidegate-dnf-'));
  // This process owns the parent folder: the other user could replace a folder of their own by a link.
  const own = join(folder, 'own');
  try {
    const home = join(own, 'home');
    await mkdir(home, { recursive: true, mode: 0o700 });
    // An install root has its database where its own distribution puts it, not this host's rpm.
    const database = `/${relative(places.root, places.database)}`;
    if (places.root !== '/') await writeFile(join(home, '.rpmmacros'), `%_dbpath ${database}\n`);
    const cache = keptCache ?? (await findKeptCache(places)) ?? join(own, 'cache');
    await mkdir(cache, { recursive: true, mode: 0o700 });
    const request = join(folder, 'request.json');
    const run = (
      call: Pick<Parameters<typeof runProgram>[0], 'program' | 'args'>,
      limits: Parameters<DnfSession['rpm']>[1] & RunLimits,
    ) => runProgram({ ...call, ...limits, env: { HOME: home }, identity, cwd: own });
    for (const path of keptCache === null ? [own] : [own, keptCache]) await transferFolder(path, identity);
    await chmod(folder, 0o711);
    return await work({
      places,
      identity,
      ask: async (what, members, limits = {}) => {
        const { root, database: path } = places;
        await rm(request, { force: true });
        await writeFile(request, JSON.stringify({ ...members, do: what, root, database: path, cache }), {
          mode: 0o644, // no secret: names, versions and paths
          flag: 'wx',
        });
        // -I: no modules from the environment or user folders; -B: no bytecode is written beside them.
        const args = ['-I', '-B', '-c', programOf(places), request];
        return run(
          { program: places.python, args },
          { timeoutMs: DNF_TIMEOUT_MS, maxOutputBytes: DNF_OUTPUT_MAX_BYTES, onOverflow: 'fail', ...limits },
        );
      },
      lend: async (paths) =>
        identity === null ? { ok: true, value: [...paths] } : lendCopies(folder, paths),
      rpm: (args, limits) => {
        const root = places.root === '/' ? [] : ['--root', places.root];
        return run({ program: 'rpm', args: [...root, ...args] }, { onOverflow: 'fail', ...limits });
      },
    });
  } finally {
    if (identity !== null) await removeAsUser(identity, [own]);
    await rm(folder, { recursive: true, force: true });
  }
}

/** In a folder that the other user can read and cannot change. */
async function lendCopies(folder: string, paths: readonly string[]): Promise<Parsed<string[]>> {
  const copies: string[] = [];
  try {
    const lent = await mkdtemp(join(folder, 'lent-'));
    await chmod(lent, 0o755);
    for (const path of paths) {
      const copy = join(lent, basename(path));
      await copyFile(path, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      await chmod(copy, 0o644);
      copies.push(copy);
    }
  } catch (error) {
    return { ok: false, reason: `kept files cannot be copied for dnf (${errorCode(error)})` };
  }
  return { ok: true, value: copies };
}

function programOf({ flavour }: DnfPlaces): string {
  switch (flavour) {
    case 'dnf4':
      return DNF4_PROGRAM;
    case 'dnf5':
      return DNF5_PROGRAM;
  }
}

function findKeptCache({ root }: DnfPlaces): Promise<string | null> {
  return openKeptCache({ folder: tmpdir(), root, uid: process.getuid?.() ?? 0 });
}
