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
/** The files of an agent that persist between runs. */
const AGENT_FILES = [
  CONFIG_NAME,
  JOURNAL_NAME,
  LOCK_NAME,
  'events-head.json',
  'outputs.json',
  'second-start',
];
/** Opens any kind of file without following links or blocking. */
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
  /** The trusted owner of its files; null when each was checked as the folder was taken over. */
  ownerUid: number | null;
}

type Used<T> = { ok: true; value: T } | { ok: false; isHeld: boolean; detail: string };

/**
 * Uses an agent's folder while its agent is not running. Root, acting for another user, first takes over the
 * folder through its descriptor: after that nobody else can create, move or remove names in it, and planted files
 * are seen as they are. Root gives away only files it created itself, through their descriptors; the folder last.
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

/** Whether this process may run an agent in the folder; root only if nobody else can change it. */
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

/** The first lock proved that no agent runs, but it may be any file; root therefore locks a new one of its own. */
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
 * Removes anything but an agent's own file under its name: a link, a FIFO, another user's file or a hard link,
 * which may be any file of the host. Returns the reason when it cannot.
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

/** Root trusts only the files it wrote after taking over the folder. */
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
