import { type FileLayer, realFiles } from '../file-layer.ts';

export type FileCall = keyof FileLayer;

/** The process "dies" here: everything afterwards fails too, so that no clean-up runs, as after kill -9. */
export class Killed extends Error {}

/**
 * A file layer whose n-th call does not happen. `error`: it fails and the next ones work. `kill`: it and all later
 * ones fail. A write that is cut short has written one byte.
 */
export function failingFiles(at: number, how: 'error' | 'kill'): { files: FileLayer; calls: FileCall[] } {
  const calls: FileCall[] = [];
  function guard(name: FileCall): void {
    calls.push(name);
    const isDue = how === 'kill' ? calls.length >= at : calls.length === at;
    if (isDue)
      throw how === 'kill' ? new Killed(name) : Object.assign(new Error('no space'), { code: 'ENOSPC' });
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
      if (calls.length + 1 >= at && bytes.length > 1) realFiles.write(fd, bytes.subarray(0, 1));
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
