import { join } from 'node:path';

const NAME = 'NODE_COMPILE_CACHE';

/**
 * Has this process and those it starts keep compiled modules in `node_modules/.cache` of a repository, where nobody
 * else can write. A program in TypeScript starts in half the time. Set before the first worker or process is started.
 */
export function keepCompiledModules(repository: string): void {
  process.env[NAME] ??= join(repository, 'node_modules/.cache/compiled-modules');
}

/** The setting of `keepCompiledModules`, for a process whose environment is made from nothing. */
export function compiledModules(): Record<string, string> {
  const folder = process.env[NAME];
  return folder === undefined ? {} : { [NAME]: folder };
}
