import { join } from 'node:path';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { LOCKFILE_MAX_BYTES } from '../ecosystems/npm/lockfile.ts';
import type { ProjectResolution, Resolution } from '../ecosystems/npm/resolve.ts';
import type { NpmSession } from '../ecosystems/npm/session.ts';
import { readBounded, readTree } from '../ecosystems/npm/tree.ts';
import { type OutputListener, type ProgramResult, runProgram } from '../platform/run-program.ts';
import { treeDifference } from './npm-tree-rules.ts';

/** Enough to copy or remove a large tree on a slow disk. */
const FILES_TIMEOUT_MS = 30 * 60_000;
const FILES_OUTPUT_MAX_BYTES = 64 * 1024;
/** Prefix of a folder that a killed executor may leave in a project; not a package name. */
const WORK_PREFIX = '.tidegate-';

const Document = Type.Object({ packages: Type.Record(Type.String(), Type.Unknown()) });

export type Applied =
  | { ok: true; output: string }
  | { ok: false; detail: string; exitCode: number | null; output: string };

/**
 * Updates a project to the resolved tree. npm works on a copy of node_modules made of hard links; the copy
 * replaces the original only if it matches the plan, and lockfile and old tree are restored when that fails.
 * Everything runs as the session's user. package.json is never changed.
 */
export async function applyToProject(
  session: NpmSession,
  {
    path,
    resolution,
    project,
    onOutput,
  }: {
    path: string;
    resolution: Resolution;
    project: ProjectResolution;
    onOutput?: OutputListener | undefined;
  },
): Promise<Applied> {
  const files = (program: string, ...args: string[]) =>
    runProgram({
      ...{ program, args, identity: session.identity, cwd: '/' },
      ...{ timeoutMs: FILES_TIMEOUT_MS, maxOutputBytes: FILES_OUTPUT_MAX_BYTES },
    });
  const hidden = hiddenLockfile(project);
  if (hidden === null) return failure('the lockfile cannot be read');
  const made = await files('mktemp', '-d', '-p', path, `${WORK_PREFIX}XXXXXXXX`);
  if (!made.ok) return broken(made);
  const work = made.stdout.trim();
  if (!work.startsWith(join(path, WORK_PREFIX)))
    return failure('the folder to work in has another name than asked for');
  try {
    const parts = await session.makeFolder({
      'package.json': project.manifest,
      'package-lock.json': project.newLockfile,
      'hidden.json': hidden,
    });
    const [modules, copied] = [join(path, 'node_modules'), join(work, 'node_modules')];
    for (const step of [
      () => files('cp', '-alT', '--', modules, copied),
      () => files('cp', '-t', work, '--', join(parts, 'package.json'), join(parts, 'package-lock.json')),
      () => files('cp', '-T', '--', join(parts, 'package-lock.json'), join(work, 'new-lock.json')),
      // A link to the old one must not be written through.
      () =>
        files(
          'cp',
          '-T',
          '--remove-destination',
          '--',
          join(parts, 'hidden.json'),
          join(copied, '.package-lock.json'),
        ),
    ]) {
      const done = await step();
      if (!done.ok) return broken(done);
    }
    const { development, optional } = project.omitted;
    const run = await session.run(
      [
        'install',
        ...[`--prefix=${work}`, '--install-strategy=hoisted', `--lockfile-version=${project.lock.version}`],
        ...[...(development ? ['--omit=dev'] : []), ...(optional ? ['--omit=optional'] : [])],
      ],
      { cwd: work, onOverflow: 'keep_tail', onOutput },
    );
    if (!run.ok) return broken(run);
    const difference = treeDifference(resolution.after, await readTree(work));
    if (difference !== null) return failure(`npm did not make what was approved: ${difference}`, run.stdout);
    const changed = await findChange(path, project);
    if (changed !== null) return failure(changed, run.stdout);
    const swapped = await swap(files, { path, work });
    return swapped === null ? { ok: true, output: run.stdout } : failure(swapped, run.stdout);
  } finally {
    await files('rm', '-rf', '--', work);
  }
}

type Files = (program: string, ...args: string[]) => Promise<ProgramResult>;

/** Two renames for the tree, one for the lockfile; a failure undoes the earlier ones. */
async function swap(files: Files, { path, work }: { path: string; work: string }): Promise<string | null> {
  const [modules, fresh, old] = [join(path, 'node_modules'), join(work, 'node_modules'), join(work, 'old')];
  const aside = await files('mv', '-T', '--', modules, old);
  if (!aside.ok) return aside.detail;
  const placed = await files('mv', '-T', '--', fresh, modules);
  if (!placed.ok) return undo(placed, await files('mv', '-T', '--', old, modules));
  const locked = await files('mv', '-T', '--', join(work, 'new-lock.json'), join(path, 'package-lock.json'));
  if (locked.ok) return null;
  const away = await files('mv', '-T', '--', modules, fresh);
  return undo(locked, away.ok ? await files('mv', '-T', '--', old, modules) : away);
}

function undo(fault: ProgramResult, undone: ProgramResult): string {
  const reason = fault.ok ? '' : fault.detail;
  return undone.ok ? reason : `${reason}; and node_modules could not be put back: ${undone.detail}`;
}

/** Detects concurrent changes to the project, so that they are not overwritten. */
async function findChange(path: string, project: ProjectResolution): Promise<string | null> {
  const manifest = await readBounded(join(path, 'package.json'), LOCKFILE_MAX_BYTES);
  const lockfile = await readBounded(join(path, 'package-lock.json'), LOCKFILE_MAX_BYTES);
  const isSame =
    manifest.ok && lockfile.ok && manifest.value === project.manifest && lockfile.value === project.lockfile;
  return isSame ? null : 'the project was changed while the update was prepared';
}

/**
 * Rebuilds npm's hidden lockfile in node_modules from lockfile and disk, which agree: with it npm keeps unchanged
 * packages and needs no files for them.
 */
function hiddenLockfile({ lockfile, disk }: ProjectResolution): string | null {
  const parsed = parseStrictJson(lockfile);
  if (!parsed.ok || !Check(Document, parsed.value)) return null;
  const packages = Object.entries(parsed.value.packages).filter(([location]) => disk.packages.has(location));
  return JSON.stringify(
    { lockfileVersion: 3, requires: true, packages: Object.fromEntries(packages) },
    null,
    2,
  );
}

function failure(detail: string, output = ''): Applied {
  return { ok: false, detail, exitCode: null, output };
}

function broken(run: Extract<ProgramResult, { ok: false }>): Applied {
  return { ok: false, detail: run.detail, exitCode: run.exitCode, output: run.stdout };
}
