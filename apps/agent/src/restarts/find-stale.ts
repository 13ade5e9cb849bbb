import { closeSync, openSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { STALE_FILES_MAX, STALE_SERVICES_MAX, type StaleService } from '@tidegate/protocol/restarts';
import { errorCode } from '../platform/file-layer.ts';
import { shownText } from '../platform/shown-text.ts';
import { deviceOf, type FileNow, isReplaced, parseMaps } from './maps-rules.ts';
import { unitOf } from './unit-rules.ts';

/** Limits of one look; what is cut makes the answer unknown. */
export const LOOK_LIMITS = { processes: 50_000, mapsBytes: 8 * 1024 * 1024, ms: 30_000 };
const SMALL_FILE_MAX_BYTES = 16 * 1024;

export interface LookOptions {
  /** `/proc`, except in tests. */
  proc: string;
  elapsedMs: () => number;
  limits?: typeof LOOK_LIMITS;
}

export interface StaleLook {
  stale: StaleService[];
  moreServices: number;
  /** Why services may be missing from the list; null when every process of this host was looked at. */
  cannot: string | null;
}

interface Group {
  service: Omit<StaleService, 'files' | 'more_files' | 'processes'>;
  processes: number;
  files: Set<string>;
}

/**
 * Finds processes that still map replaced files. A process in another root directory and another mount namespace (a
 * container) is not of this host and is skipped. One of the two alone is a chroot or a hardened service, and is
 * looked at. Needs CAP_SYS_PTRACE for the processes of others (ptrace(2), PTRACE_MODE_READ_FSCREDS).
 */
export function findStale({ proc, elapsedMs, limits = LOOK_LIMITS }: LookOptions): StaleLook {
  const begunMs = elapsedMs();
  const groups = new Map<string, Group>();
  const lookUp = cachedLookUp();
  const pids = readdirSync(proc).filter((name) => /^\d{1,10}$/.test(name));
  let unreadable = 0;
  const cuts = new Set<string>();
  if (pids.length > limits.processes) cuts.add(`there are ${pids.length} processes`);
  if (!pids.includes('1')) cuts.add('the processes of others are hidden from this one');
  for (const pid of pids.slice(0, limits.processes)) {
    if (elapsedMs() - begunMs > limits.ms) {
      cuts.add(`looking at ${pids.length} processes took more than ${limits.ms} ms`);
      break;
    }
    const read = readProcess({ proc, pid, maxBytes: limits.mapsBytes });
    if (read === 'unreadable') unreadable += 1;
    if (typeof read === 'string') continue;
    if (!read.isWhole) cuts.add(`a process has more than ${limits.mapsBytes} bytes of mappings`);
    const files = parseMaps(read.maps).filter((file) => isReplaced(file, lookUp));
    if (files.length === 0) continue;
    const { kind, unit } = unitOf(read.cgroup);
    const name = shownText(unit ?? read.comm.trimEnd(), 256);
    const key = `${kind} ${name}`;
    const group = groups.get(key) ?? { service: { name, kind }, processes: 0, files: new Set() };
    group.processes += 1;
    for (const { path } of files) group.files.add(shownText(path, 256));
    groups.set(key, group);
  }
  if (unreadable > 0) cuts.add(`processes that cannot be read without CAP_SYS_PTRACE: ${unreadable}`);
  return { ...told([...groups.values()]), cannot: cuts.size === 0 ? null : [...cuts].join('; ') };
}

function told(groups: readonly Group[]): Omit<StaleLook, 'cannot'> {
  const rank = { core: 0, service: 1, other: 2, session: 3 };
  const sorted = groups
    .map(({ service, processes, files }) => ({
      ...service,
      processes,
      files: [...files]
        .sort()
        .slice(0, STALE_FILES_MAX)
        .map((path) => ({ path })),
      more_files: Math.max(0, files.size - STALE_FILES_MAX),
    }))
    .sort((a, b) => rank[a.kind] - rank[b.kind] || (a.name < b.name ? -1 : 1));
  return {
    stale: sorted.slice(0, STALE_SERVICES_MAX),
    moreServices: Math.max(0, sorted.length - STALE_SERVICES_MAX),
  };
}

type Process = { maps: string; isWhole: boolean; cgroup: string; comm: string };

/** `gone`: it ended meanwhile, is of the kernel, or runs in a container. */
function readProcess(place: {
  proc: string;
  pid: string;
  maxBytes: number;
}): Process | 'gone' | 'unreadable' {
  const folder = join(place.proc, place.pid);
  try {
    // Threads of the kernel and processes that have ended hold no memory, and nobody may read theirs.
    if (/^0 /.test(readUpTo(join(folder, 'statm'), SMALL_FILE_MAX_BYTES).text)) return 'gone';
    if (isElsewhere(place)) return 'gone';
    const { text: maps, isWhole } = readUpTo(join(folder, 'maps'), place.maxBytes);
    const cgroup = readUpTo(join(folder, 'cgroup'), SMALL_FILE_MAX_BYTES).text;
    const comm = readUpTo(join(folder, 'comm'), SMALL_FILE_MAX_BYTES).text;
    return { maps, isWhole, cgroup, comm };
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ESRCH') return 'gone';
    return 'unreadable';
  }
}

function isElsewhere({ proc, pid }: { proc: string; pid: string }): boolean {
  if (rootOf(join(proc, pid, 'root')) === rootOf('/')) return false;
  const own = readlinkSync(join(proc, pid, 'ns/mnt'));
  return !['1', 'self'].some((host) => namespaceOf(proc, host) === own);
}

/** Null where it may not be read. */
function namespaceOf(proc: string, pid: string): string | null {
  try {
    return readlinkSync(join(proc, pid, 'ns/mnt'));
  } catch {
    return null;
  }
}

/** Files of /proc have no size. Invalid UTF-8 becomes U+FFFD. */
function readUpTo(path: string, maxBytes: number): { text: string; isWhole: boolean } {
  const fd = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    while (length < maxBytes) {
      const chunk = Buffer.alloc(Math.min(64 * 1024, maxBytes - length));
      const count = readSync(fd, chunk, 0, chunk.length, null);
      if (count === 0) return { text: Buffer.concat(chunks).toString(), isWhole: true };
      chunks.push(chunk.subarray(0, count));
      length += count;
    }
    return { text: Buffer.concat(chunks).toString(), isWhole: false };
  } finally {
    closeSync(fd);
  }
}

function rootOf(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true });
  return `${dev} ${ino}`;
}

/** Many processes map the same files. */
function cachedLookUp(): (path: string) => FileNow | null {
  const known = new Map<string, FileNow | null>();
  return (path) => {
    const found = known.get(path);
    if (found !== undefined) return found;
    const now = lookAt(path);
    known.set(path, now);
    return now;
  };
}

function lookAt(path: string): FileNow | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return { device: deviceOf(dev), inode: String(ino) };
  } catch {
    return null; // a name that cannot be looked at leads to no file: too long, a loop, removed
  }
}
