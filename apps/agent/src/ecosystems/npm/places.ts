import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../platform/file-layer.ts';
import type { HostPaths } from '../ecosystem.ts';
import type { NpmPlace } from './locations.ts';
import { LOCKFILE_MAX_BYTES, type Lockfile, type Parsed, parseLockfile } from './lockfile.ts';
import type { NpmSession } from './session.ts';
import { readBounded } from './tree.ts';

/** The prefix of the global packages and the project folders that the administrator named. */
export async function findPlaces(
  session: NpmSession,
  paths: HostPaths,
): Promise<{ places: NpmPlace[]; faults: string[] }> {
  const faults: string[] = [];
  const places: NpmPlace[] = [];
  const prefix = await findPrefix(session, paths);
  if (prefix.ok) places.push({ kind: 'global', path: prefix.value });
  else faults.push(prefix.reason);
  for (const path of paths.npm.projects) {
    const real = await realOf(path);
    if (real.ok) places.push({ kind: 'project', path: real.value });
    else faults.push(real.reason);
  }
  return { places, faults };
}

async function findPrefix(session: NpmSession, { npm }: HostPaths): Promise<Parsed<string>> {
  if (npm.prefix !== null) return realOf(npm.prefix);
  const answer = await session.run(['prefix', '--global'], { cwd: await session.makeFolder({}) });
  if (!answer.ok) return { ok: false, reason: answer.detail };
  const path = answer.stdout.trim();
  return path.startsWith('/') ? realOf(path) : { ok: false, reason: 'npm reports no prefix' };
}

/** The real path of a place, so that the approved path is the one that is changed. */
async function realOf(path: string): Promise<Parsed<string>> {
  try {
    const real = await realpath(path);
    if (real === '/' || real.includes('//'))
      return { ok: false, reason: `${path} is not a supported package location` };
    return { ok: true, value: real };
  } catch (error) {
    return { ok: false, reason: `${path} cannot be read (${errorCode(error)})` };
  }
}

/** The package.json and lockfile of a project, as text. */
export interface Project {
  manifest: string;
  lockfile: string;
  lock: Lockfile;
}

export async function readProject(path: string): Promise<Parsed<Project>> {
  const manifest = await readBounded(join(path, 'package.json'), LOCKFILE_MAX_BYTES);
  if (!manifest.ok) return manifest;
  const shrinkwrap = await readBounded(join(path, 'npm-shrinkwrap.json'), LOCKFILE_MAX_BYTES);
  if (shrinkwrap.ok)
    return { ok: false, reason: `${path} is locked by npm-shrinkwrap.json, which is not supported` };
  const lockfile = await readBounded(join(path, 'package-lock.json'), LOCKFILE_MAX_BYTES);
  if (!lockfile.ok) return lockfile;
  const lock = parseLockfile(lockfile.value);
  if (!lock.ok) return { ok: false, reason: `${path}: ${lock.reason}` };
  return { ok: true, value: { manifest: manifest.value, lockfile: lockfile.value, lock: lock.value } };
}
