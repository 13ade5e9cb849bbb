import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Leash, startLeash } from './leash.ts';

const REMOVE_EACH_LINE = 'while IFS= read -r d; do set -- "$@" "$d"; done; [ $# -eq 0 ] || rm -rf -- "$@"';

let leash: Leash | undefined;

/** A temporary directory; `using` removes it at the end of the block. */
export type TmpDir = Disposable & { readonly path: string; remove(): void };

/**
 * Makes an empty directory of mode 0700 that is removed by `remove`, and otherwise when this process or worker
 * thread has ended. `prefix` starts its name.
 */
export function tmpDir(prefix = 'tidegate-'): TmpDir {
  const path = mkdtempSync(join(realpathSync(tmpdir()), prefix));
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  if (process.platform === 'win32') {
    process.once('exit', remove); // no shell to leave behind
  } else {
    leash ??= startLeash({ script: REMOVE_EACH_LINE });
    leash.tell(path);
  }
  return { path, remove, [Symbol.dispose]: remove };
}
