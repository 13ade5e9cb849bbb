import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  openSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { CONFIG_NAME, type SaveOutcome } from '../identity/config-file.ts';
import { JOURNAL_NAME } from '../journal/journal-state.ts';
import { ownUid } from '../platform/file-layer.ts';
import { type HeldFolder, holdFolder } from '../platform/held-folder.ts';
import { holdInstanceLock } from '../platform/instance-lock.ts';
import { secureFolder } from '../platform/root-folder.ts';

const LOCK_NAME = 'agent.lock';
/** The files of an agent that outlive it. */
const AGENT_FILES = [
  CONFIG_NAME,
  JOURNAL_NAME,
  LOCK_NAME,
  'events-head.json',
  'outputs.json',
  'second-start',
];
/** Opens whatever stands there, without following or waiting. */
const LOOK = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const WRITABLE_BY_OTHERS = 0o022;

/** A user of this host, by name and number. */
export interface HostUser {
  name: string;
  uid: number;
  gid: number;
}

/** The folder of an agent while it is enrolled. */
export interface AgentFolder {
  path: string;
  /** Whose files in it are believed; null where each was judged when the folder was taken. */
  ownerUid: number | null;
}

type Used<T> = { ok: true; value: T } | { ok: false; isHeld: boolean; detail: string };

/**
 * Uses the folder of an agent, which no agent runs on meanwhile. Root, for another user, first takes the folder from
 * that user, by its descriptor: from then on nobody else can make, move or remove a name in it, and whatever was
 * planted is seen as it is. Only files that root has made itself are given away, by their descriptors; the folder last.
 */
export async function withAgentFolder<T>(
  place: { path: string; user: HostUser | null },
  work: (folder: AgentFolder) => Promise<T>,
): Promise<Used<T>> {
  const user = ownUid() === 0 ? place.user : null;
  const secured = secureFolder(place.path, { mode: 0o700, isGivenAway: user !== null });
  if (!secured.ok) return refuse(secured.detail);
  const { path } = secured;
  if (ownUid() !== 0) return withLock(path, () => work({ path, ownerUid: ownUid() }));
  const held = holdFolder(path);
  if (!held.ok) return refuse(`${path} cannot be opened (${held.code})`);
  try {
    const fault = findForeignOwner(path, held.folder, user);
    if (fault !== null)
      return refuse(user === null ? `${fault}: add --user with the user that runs the agent` : fault);
    const locked = await withLock(path, () =>
      user === null ? useAsOwn(path, work) : useTaken(held.folder, { path, user }, work),
    );
    return locked.ok ? locked.value : locked;
  } finally {
    held.folder.close();
  }
}

/** Whether this process may run an agent in the folder: root only in one that nobody else can change. */
export function guardAgentFolder(path: string): SaveOutcome {
  if (ownUid() !== 0) return { ok: true };
  const secured = secureFolder(path, { mode: null, isGivenAway: false });
  if (!secured.ok) return secured;
  const held = holdFolder(secured.path);
  if (!held.ok) return refuse(`${path} cannot be opened (${held.code})`);
  const fault = findForeignOwner(path, held.folder, null);
  held.folder.close();
  return fault === null ? { ok: true } : refuse(fault);
}

/** Root works in folders of its own and of the user that it is asked to work for, and in no others. */
function findForeignOwner(path: string, { fd }: HeldFolder, user: HostUser | null): string | null {
  const { uid, mode } = fstatSync(fd);
  if (uid !== 0 && user === null) return `${path} belongs to user ${uid}, not to root`;
  if (uid !== 0 && uid !== user?.uid) return `${path} belongs to user ${uid}, not to ${user?.name}`;
  if (uid === 0 && (mode & WRITABLE_BY_OTHERS) !== 0) {
    return `${path} can be written by others than root: "chmod 0700 ${path}" when you know what is in it`;
  }
  return null;
}

async function withLock<T>(path: string, work: () => Promise<T>): Promise<Used<T>> {
  const locked = await holdInstanceLock(path);
  if (!locked.ok) return { ok: false, isHeld: locked.reason === 'held', detail: locked.detail };
  try {
    return { ok: true, value: await work() };
  } finally {
    locked.lock.release();
  }
}

async function useAsOwn<T>(path: string, work: (folder: AgentFolder) => Promise<T>): Promise<Used<T>> {
  return { ok: true, value: await work({ path, ownerUid: 0 }) };
}

/** The first lock said that no agent runs; what was locked may be any file, so a new one is locked while it is root's. */
async function useTaken<T>(
  { fd }: HeldFolder,
  { path, user }: { path: string; user: HostUser },
  work: (folder: AgentFolder) => Promise<T>,
): Promise<Used<T>> {
  const before = fstatSync(fd).uid;
  fchownSync(fd, 0, 0);
  fchmodSync(fd, 0o700);
  try {
    const fault = dropForeignFiles(path, new Set([before, user.uid]));
    if (fault !== null) return refuse(fault);
    rmSync(join(path, LOCK_NAME), { force: true });
    return await withLock(path, async () => {
      try {
        return await work({ path, ownerUid: null });
      } finally {
        giveFiles(path, user);
      }
    });
  } finally {
    fchownSync(fd, user.uid, user.gid);
  }
}

/**
 * Removes what stands under the name of an agent's file and is none: a link, a FIFO, a file of somebody else's, or one
 * with another name, which may be any file of the host. Returns why that cannot be done.
 */
function dropForeignFiles(path: string, owners: ReadonlySet<number>): string | null {
  for (const name of AGENT_FILES) {
    const file = join(path, name);
    const stat = lstatSync(file, { throwIfNoEntry: false });
    if (stat === undefined || (stat.isFile() && stat.nlink === 1 && owners.has(stat.uid))) continue;
    if (stat.isDirectory()) return `${file} is a folder: remove it`;
    rmSync(file);
  }
  return null;
}

/** Root's files in the folder are those that it has written itself since the folder is its own. */
function giveFiles(path: string, user: HostUser): void {
  for (const name of AGENT_FILES) {
    const file = join(path, name);
    if (lstatSync(file, { throwIfNoEntry: false })?.uid !== 0) continue;
    const fd = openSync(file, LOOK);
    try {
      const stat = fstatSync(fd);
      if (stat.isFile() && stat.nlink === 1) fchownSync(fd, user.uid, user.gid);
    } finally {
      closeSync(fd);
    }
  }
}

function refuse(detail: string): { ok: false; isHeld: false; detail: string } {
  return { ok: false, isHeld: false, detail };
}
