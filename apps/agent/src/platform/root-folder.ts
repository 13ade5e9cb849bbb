import { lstatSync, mkdirSync, readlinkSync, type Stats } from 'node:fs';
import { join, resolve } from 'node:path';
import { errorCode, ownUid } from './file-layer.ts';

/** Most links on the way to a folder, as the kernel has it. */
const LINKS_MAX = 40;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

export type FolderOutcome = { ok: true; path: string } | { ok: false; detail: string };

export interface FolderWish {
  /** Makes the folder with this mode, and what is missing above it with mode 0755; null: it has to be there. */
  mode: number | null;
  /** Whether somebody but root owns the folder or is going to: a sticky parent does not keep its owner from moving it. */
  isGivenAway: boolean;
}

/**
 * Resolves the folder in which root will work, following links, and creates it if missing. Fails when anybody but
 * root could replace the folder, a parent or a link in its path; otherwise the path is stable while root works
 * there. Users other than root are exempt: they risk only their own files.
 */
export function secureFolder(path: string, { mode, isGivenAway }: FolderWish): FolderOutcome {
  const isRoot = ownUid() === 0;
  try {
    if (isRoot) return walk(resolve(path), { mode, isGivenAway });
    if (mode !== null) mkdirSync(path, { recursive: true, mode });
    return { ok: true, path };
  } catch (error) {
    return {
      ok: false,
      detail: `${path} cannot be ${mode === null ? 'read' : 'made'} (${errorCode(error)})`,
    };
  }
}

function walk(path: string, { mode, isGivenAway }: FolderWish): FolderOutcome {
  let at = '/';
  let rest = partsOf(path);
  for (let links = 0; ; ) {
    const [name, ...others] = rest;
    if (name === undefined) return { ok: true, path: at };
    const child = join(at, name);
    const isLast = others.length === 0;
    const fault = findOpenFolder(at, isLast && isGivenAway);
    if (fault !== null) return refuse(path, fault);
    const stat = lstatSync(child, { throwIfNoEntry: false }) ?? make(child, isLast ? mode : 0o755, mode);
    if (stat === null) return { ok: false, detail: `${child} does not exist` };
    // In a sticky folder such as /tmp everybody can create names, but nobody can move root's.
    const isOpen = (lstatSync(at).mode & WRITABLE_BY_OTHERS) !== 0;
    if (stat.uid !== 0 && (isOpen || stat.isSymbolicLink())) {
      return refuse(path, `${child} belongs to user ${stat.uid}`);
    }
    if (stat.isSymbolicLink()) {
      if (++links > LINKS_MAX) return refuse(path, 'it leads through too many links');
      rest = [...partsOf(resolve(at, readlinkSync(child))), ...others];
      at = '/';
    } else if (stat.isDirectory()) {
      at = child;
      rest = others;
    } else {
      return refuse(path, `${child} is not a folder`);
    }
  }
}

/** Who other than root can move entries of a folder; null when nobody can. */
function findOpenFolder(folder: string, isGivenAway: boolean): string | null {
  const { uid, mode } = lstatSync(folder);
  if (uid !== 0) return `${folder} belongs to user ${uid}`;
  if ((mode & WRITABLE_BY_OTHERS) === 0) return null;
  if ((mode & STICKY) !== 0 && !isGivenAway) return null;
  return `${folder} can be written by others than root`;
}

function make(path: string, ownMode: number | null, wished: number | null): Stats | null {
  if (wished === null || ownMode === null) return null;
  mkdirSync(path, { mode: ownMode });
  return lstatSync(path);
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}

function refuse(path: string, why: string): FolderOutcome {
  return { ok: false, detail: `${path} is not used by root: ${why}, who could replace it` };
}
