import { basename } from 'node:path';
import { type FileLayer, realFiles } from '../platform/file-layer.ts';

export type FileCall = keyof FileLayer;

/** The process "dies" here: everything afterwards fails too, so that no clean-up runs, as after kill -9. */
export class Killed extends Error {}

/**
 * A real file layer that tells each call that came through, in order: `open NAME`, `fsync NAME`, `rename NAME`, …, with
 * `.tmp` for every temporary file.
 */
export function recordingFiles(record: (call: string) => void): FileLayer {
  const names = new Map<number, string>();
  const nameOf = (path: string) => (path.endsWith('.tmp') ? '.tmp' : basename(path));
  const told = (call: FileCall, fd: number) => record(`${call} ${names.get(fd)}`);
  return {
    open: (path, flags, mode) => {
      const fd = realFiles.open(path, flags, mode);
      names.set(fd, nameOf(path));
      told('open', fd);
      return fd;
    },
    write: (fd, bytes) => {
      told('write', fd);
      return realFiles.write(fd, bytes);
    },
    fsync: (fd) => {
      realFiles.fsync(fd);
      told('fsync', fd);
    },
    chmod: realFiles.chmod,
    close: realFiles.close,
    rename: (from, to) => {
      realFiles.rename(from, to);
      record(`rename ${nameOf(to)}`);
    },
    unlink: realFiles.unlink,
  };
}

/**
 * A file layer whose n-th call does not happen. `error`: it fails and the next ones work. `kill`: it and all later
 * ones fail. A write that is cut short has written one byte.
 */
export function failingFiles(
  at: number,
  how: 'error' | 'kill',
  code = 'ENOSPC',
): { files: FileLayer; calls: FileCall[] } {
  const calls: FileCall[] = [];
  const isDue = (count: number) => (how === 'kill' ? count >= at : count === at);
  function guard(name: FileCall): void {
    calls.push(name);
    if (!isDue(calls.length)) return;
    throw how === 'kill' ? new Killed(name) : Object.assign(new Error('injected'), { code });
  }
  function step<A extends unknown[], R>(name: FileCall, call: (...args: A) => R): (...args: A) => R {
    return (...args) => {
      guard(name);
      return call(...args);
    };
  }
  const files: FileLayer = {
    open: step('open', realFiles.open),
    write: (fd, bytes) => {
      if (isDue(calls.length + 1) && bytes.length > 1) realFiles.write(fd, bytes.subarray(0, 1));
      guard('write');
      return realFiles.write(fd, bytes);
    },
    fsync: step('fsync', realFiles.fsync),
    chmod: step('chmod', realFiles.chmod),
    close: step('close', realFiles.close),
    rename: step('rename', realFiles.rename),
    unlink: step('unlink', realFiles.unlink),
  };
  return { files, calls };
}
