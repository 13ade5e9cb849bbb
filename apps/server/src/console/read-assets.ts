import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/** Files that pages link to: never the document itself, and never the manifest of the build. */
const SERVED = /^(assets\/\w[\w.-]*\.(js|css|woff2|svg|png)|[\w-]+\.svg)$/;

/** URL paths of the files beside the document that may be served; null if no console was built. */
export async function readAssets(folder: string): Promise<readonly string[] | null> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    },
  );
  if (entries === null) return null;
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'));
  return paths.includes('index.html') ? paths.filter((path) => SERVED.test(path)) : null;
}
