import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';

/** The files of a host below a folder that stands for its `/`; removed at the end of the block. */
export function hostRoot(files: Readonly<Record<string, string>>): Disposable & { readonly root: string } {
  const folder = tmpDir();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder.path, path)), { recursive: true });
    writeFileSync(join(folder.path, path), text);
  }
  return { root: folder.path, [Symbol.dispose]: folder.remove };
}
