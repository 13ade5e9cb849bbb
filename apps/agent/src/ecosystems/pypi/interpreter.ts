import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { compareVersions } from '@tidegate/versions';
import { findForeignStep } from './ownership.ts';
import type { PypiPlace } from './places.ts';
import { type Parsed, readPlainFile } from './read-file.ts';

const VERSION_FILE_MAX_BYTES = 64 * 1024;
/** The first version with `--report`. */
const OLDEST_PIP = '22.2';

/** The interpreter and pip to run: both of the host, neither from the place itself. */
export interface Interpreter {
  /** The target of the place's `python` link. */
  python: string;
  /** The folder of the pip package. */
  pip: string;
  pipVersion: string;
}

/**
 * Finds the interpreter of a place and a pip of the host. Both must be files that only `uids` could have written:
 * other users' programs are never run. The interpreter runs isolated and without `site` (-I -S): markers, tags
 * and versions are those of the place, but no code of the place is executed.
 */
export async function findInterpreter(
  place: PypiPlace,
  uids: ReadonlySet<number>,
): Promise<Parsed<Interpreter>> {
  const [major, minor] = place.pythonVersion.split('.');
  const short = `${major}.${minor}`;
  const python = await realpath(place.python).catch(() => null);
  if (python === null) return { ok: false, reason: `${place.python} leads to no interpreter` };
  const foreign = await findForeignStep(python, uids);
  if (foreign !== null) {
    return { ok: false, reason: `the interpreter of ${place.path} is not run: ${foreign}` };
  }
  const prefix = dirname(dirname(python));
  const folders = [
    join(prefix, `lib/python${short}/site-packages/pip`),
    '/usr/lib/python3/dist-packages/pip',
    `/usr/lib/python${short}/site-packages/pip`,
  ];
  // If the place contains a copy of its interpreter, that copy's prefix is the place, and so is a pip in it.
  const usable = folders.filter((folder) => !folder.startsWith(`${place.path}/`));
  const reasons: string[] = [];
  for (const folder of usable) {
    const pip = await readPip(folder, uids);
    if (pip.ok) return { ok: true, value: { python, pip: folder, pipVersion: pip.value } };
    if (pip.reason !== '') reasons.push(pip.reason);
  }
  return { ok: false, reason: reasons[0] ?? `no pip is installed on this host for Python ${short}` };
}

/** The version of a pip; an empty reason when there is none. */
async function readPip(folder: string, uids: ReadonlySet<number>): Promise<Parsed<string>> {
  const read = await readPlainFile(join(folder, '__init__.py'), VERSION_FILE_MAX_BYTES);
  if (!read.ok) return { ok: false, reason: '' };
  const foreign = await findForeignStep(folder, uids);
  if (foreign !== null) return { ok: false, reason: `pip is not run: ${foreign}` };
  const [, version = ''] = /^__version__ = ["']([0-9][0-9A-Za-z.]*)["']/m.exec(read.text) ?? [];
  const order = compareVersions('pypi', version, OLDEST_PIP);
  if (order === 'undecidable' || order === -1) {
    return { ok: false, reason: `pip ${version} is too old: ${OLDEST_PIP} or newer is needed` };
  }
  return { ok: true, value: version };
}
