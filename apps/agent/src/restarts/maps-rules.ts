/** A file that a process has mapped with the right to execute it. */
export interface MappedFile {
  path: string;
  /** What the kernel appends when the name no longer leads to the mapped file. */
  isDeleted: boolean;
  /** Device as `major:minor` in decimal, and the inode: the identity of the mapped file. */
  device: string;
  inode: string;
}

/** The file that a path leads to now. */
export interface FileNow {
  device: string;
  inode: string;
}

const DELETED = ' (deleted)';
/** Programs create, map and remove files of their own here, such as compiled code. */
const SCRATCH = [
  '/tmp/',
  '/var/tmp/',
  '/dev/',
  '/run/',
  '/proc/',
  '/sys/',
  '/memfd:',
  '/SYSV',
  '/anon_hugepage',
];
/** Only root mounts file systems here, so that looking at a path never waits for another user's. */
const SYSTEM = ['/usr/', '/lib', '/bin/', '/sbin/', '/opt/'];
const LINE = /^[0-9a-f]+-[0-9a-f]+ ..x. [0-9a-f]+ ([0-9a-f]+):([0-9a-f]+) (\d+) +(\/.*)$/;

/**
 * The executable mappings of files in a text of `/proc/<pid>/maps` (proc_pid_maps(5)), each once. Other lines, also
 * a cut last one, are no files. The kernel writes a line feed in a name as `\012`, so a name never begins a line.
 */
export function parseMaps(text: string): MappedFile[] {
  const files = new Map<string, MappedFile>();
  for (const line of text.split('\n')) {
    const [, major = '', minor = '', inode = '', name = ''] = LINE.exec(line) ?? [];
    if (inode === '' || inode === '0' || isScratch(name)) continue;
    const isDeleted = name.endsWith(DELETED);
    const path = isDeleted ? name.slice(0, -DELETED.length) : name;
    const device = `${Number.parseInt(major, 16)}:${Number.parseInt(minor, 16)}`;
    files.set(`${device} ${inode} ${name}`, { path, isDeleted, device, inode });
  }
  return [...files.values()];
}

/**
 * Whether the mapped file is no longer the one on disk. `lookUp` is asked only for paths where no other user can
 * mount a file system; elsewhere the kernel's mark decides.
 */
export function isReplaced(file: MappedFile, lookUp: (path: string) => FileNow | null): boolean {
  const { path, isDeleted } = file;
  if (!isSystemPath(path)) return isDeleted;
  const now = lookUp(isDeleted ? `${path}${DELETED}` : path);
  // A file may really be called "x (deleted)".
  if (isDeleted) return now === null || !isSame(file, now);
  // Stacked file systems report other devices: only a different file on the same device is proof.
  return now !== null && now.device === file.device && now.inode !== file.inode;
}

export function isSystemPath(path: string): boolean {
  return SYSTEM.some((folder) => path.startsWith(folder)) && !path.split('/').includes('..');
}

function isScratch(path: string): boolean {
  return SCRATCH.some((folder) => path.startsWith(folder));
}

function isSame(a: FileNow, b: FileNow): boolean {
  return a.device === b.device && a.inode === b.inode;
}

/** The device number of stat(2) on Linux as `major:minor`, in decimal. */
export function deviceOf(dev: bigint): string {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}
