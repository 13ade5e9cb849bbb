import { fstatSync, rmdirSync } from 'node:fs';
import { errorCode, ownUid } from '../platform/file-layer.ts';
import { type HeldFolder, holdFolder } from '../platform/held-folder.ts';
import { secureFolder } from '../platform/root-folder.ts';
import { runProgram } from '../platform/run-program.ts';
import type { ExecuteOutcome } from './job-result.ts';
import { hide, lookThrough, replaceSpool } from './spool.ts';

/** No job starts later than this, so that the last installation fits systemd's limit on the whole run. */
const BEGIN_MAX_MS = 10 * 60_000;
/** How often a lingering executor scans the spool. */
const LOOK_EVERY_MS = 500;
/** Time limit for removing foreign entries; the user's quota bounds the rest. */
const REMOVE_MAX_MS = 60_000;

export interface SpoolOptions {
  path: string;
  /** Minimum lingering time for further jobs: systemd limits how often the executor starts. */
  lingerMs: number;
  execute: (job: string) => Promise<ExecuteOutcome>;
  elapsedMs: () => number;
  pause: (ms: number) => Promise<unknown>;
}

export type SpoolOutcome =
  | { ok: true; answered: number; setAside: number; faults: string[] }
  | { ok: false; detail: string };

/** Answers the jobs of a spool. Afterwards nothing that was in it at the start can start the executor again. */
export async function runSpool(options: SpoolOptions): Promise<SpoolOutcome> {
  const { path, lingerMs, elapsedMs, pause } = options;
  const secured = secureFolder(path, { mode: null, isGivenAway: true });
  if (!secured.ok) return secured;
  const beganMs = elapsedMs();
  const told = { answered: 0, setAside: 0, faults: new Set<string>() };
  for (;;) {
    const held = holdFolder(secured.path);
    if (!held.ok) return { ok: false, detail: `${path} cannot be opened (${held.code})` };
    let begun = 0;
    let isBusy = false;
    try {
      const look = lookThrough(held.folder);
      told.setAside += look.setAside;
      for (const name of look.jobs) {
        if (isBusy || elapsedMs() - beganMs >= BEGIN_MAX_MS) break;
        const outcome = await answer(options, held.folder, name);
        isBusy = !outcome.ok && outcome.isBusy === true;
        if (!isBusy) begun += 1;
        if (outcome.ok) told.answered += 1;
        else told.faults.add(outcome.detail);
      }
      if (look.isFlooded) told.faults.add(await endFlood(secured.path, held.folder));
    } finally {
      held.folder.close();
    }
    const ranMs = elapsedMs() - beganMs;
    const mayEnd = begun === 0 && !isBusy;
    if (ranMs >= (mayEnd ? lingerMs : BEGIN_MAX_MS)) return { ok: true, ...told, faults: [...told.faults] };
    if (begun === 0) await pause(LOOK_EVERY_MS);
  }
}

/**
 * Carries out one job. An unanswered job is tried once more, which after an error reports the interruption; it
 * never blocks other jobs. Its mark is always removed unless another executor is running.
 */
async function answer({ execute }: SpoolOptions, spool: HeldFolder, name: string): Promise<ExecuteOutcome> {
  const first = await attempt(() => execute(spool.at(name)), name);
  if (!first.ok && first.isBusy === true) return first;
  const outcome = first.ok ? first : await attempt(() => execute(spool.at(name)), name);
  return hide(spool, name) ? outcome : { ok: false, detail: `the mark of job ${name} cannot be removed` };
}

async function attempt(execute: () => Promise<ExecuteOutcome>, name: string): Promise<ExecuteOutcome> {
  try {
    return await execute();
  } catch (error) {
    return { ok: false, detail: `job ${name}: ${errorCode(error)}` };
  }
}

/** Foreign entries are removed as their owner: root does not walk a tree that another user may change. */
async function endFlood(path: string, spool: HeldFolder): Promise<string> {
  const { uid, gid } = fstatSync(spool.fd);
  const aside = replaceSpool(path, spool);
  if (aside === null) return `${path} holds too many or unreadable names and cannot be moved: empty it`;
  await runProgram({
    ...{ program: 'rm', args: ['-rf', '--', aside], identity: uid === ownUid() ? null : { uid, gid } },
    ...{ timeoutMs: REMOVE_MAX_MS, maxOutputBytes: 64 * 1024, onOverflow: 'keep_tail' },
  });
  try {
    rmdirSync(aside);
    return `${path} held too many or unreadable names: it was replaced`;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return `${path} held too many or unreadable names: it was replaced`;
    return `${path} held too many or unreadable names: it was replaced, and what is left of it is ${aside}`;
  }
}
