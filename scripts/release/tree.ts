import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** A file of a tree; `path` is from the root of the host, without the first slash. */
export interface TreeFile {
  path: string;
  mode: number;
  sha256: string;
}

/** Copies a file or folder to `path` in the tree. Modes become 0644, or 0755 for programs and folders. */
export function put(tree: string, path: string, source: string): void {
  const target = join(tree, path);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(source, target, { recursive: true, dereference: true });
  for (const file of filesBelow(target)) setMode(file, (statSync(file).mode & 0o100) !== 0 ? 0o755 : 0o644);
}

export function putText(tree: string, path: string, text: string | Uint8Array, mode = 0o644): void {
  const target = join(tree, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
  setMode(target, mode);
}

/** Every file of a tree, in order of their paths. */
export function filesOf(tree: string): TreeFile[] {
  return filesBelow(tree)
    .map((file) => ({
      path: relative(tree, file),
      mode: statSync(file).mode & 0o777,
      sha256: sha256Of(file),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

export function sha256Of(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** Whatever the umask of the builder is. */
function setMode(file: string, mode: number): void {
  chmodSync(file, mode);
}

function filesBelow(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  chmodSync(path, 0o755);
  return readdirSync(path).flatMap((name) => filesBelow(join(path, name)));
}
