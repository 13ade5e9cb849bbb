import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { packagesOf } from './release/packages-of.ts';
import { swapFolder } from './swap-folder.ts';

// Builds the console into apps/console/dist; with --when-stale only if its sources changed since the last build.
// It is built in another folder, which then replaces the old one at once, because a server may be serving the old build and
// another build may be running.
const ROOT = join(import.meta.dirname, '..');
const CONSOLE = join(ROOT, 'apps/console');
const DIST = join(CONSOLE, 'dist');
const STAMP = 'sources.sha256';
/** The npm packages whose code is in the build, as the lockfile names their folders. */
const PACKAGES = 'packages.json';
/** Its text is in the style sheet, which has no modules. */
const IN_STYLES = 'node_modules/tailwindcss/index.css';
/** Files that browsers fetch compressed; the pictures are too small for that. */
const COMPRESSED = ['assets', 'index.html'];
/** Everything that the build reads; the lockfile represents the libraries. */
const SOURCES = [
  'apps/console/src',
  'apps/console/public',
  'apps/console/index.html',
  'apps/console/vite.config.ts',
  'packages/protocol/src',
  'scripts/build-console.ts',
  'scripts/release/packages-of.ts',
  'scripts/swap-folder.ts',
  'package-lock.json',
];

const wanted = hashOfSources();
if (!process.argv.includes('--when-stale') || builtFrom() !== wanted) {
  const started = performance.now();
  process.stderr.write('Building the console…\n');
  // Set in any case: tests would otherwise get the slower and larger development builds of libraries.
  process.env.NODE_ENV = 'production';
  const { build } = await import('vite');
  const outDir = join(CONSOLE, `.dist-${process.pid}`);
  const settings = { root: CONSOLE, configFile: join(CONSOLE, 'vite.config.ts'), logLevel: 'warn' } as const;
  const built = await build({ ...settings, build: { outDir, emptyOutDir: true } });
  const chunks = [built].flat().flatMap((part) => ('output' in part ? part.output : []));
  const modules = chunks.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
  for (const path of COMPRESSED.flatMap((path) => filesOf(join(outDir, path)))) compress(path);
  writeFileSync(join(outDir, PACKAGES), JSON.stringify(packagesOf([...modules, IN_STYLES])));
  writeFileSync(join(outDir, STAMP), wanted);
  swapFolder(outDir, DIST);
  process.stderr.write(`Console built in ${((performance.now() - started) / 1_000).toFixed(1)} s.\n`);
}

function hashOfSources(): string {
  const hash = createHash('sha256');
  for (const path of SOURCES.flatMap((path) => filesOf(join(ROOT, path))).toSorted())
    hash.update(`${relative(ROOT, path)}\0`).update(readFileSync(path));
  return hash.digest('hex');
}

/** Writes compressed copies next to the file, which the server sends to browsers that accept them. */
function compress(file: string): void {
  const bytes = readFileSync(file);
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(`${file}.br`, brotliCompressSync(bytes));
}

/** The files of a folder, or the file itself. */
function filesOf(path: string): string[] {
  try {
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
      .map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return [path];
    throw error;
  }
}

function builtFrom(): string | null {
  try {
    return readFileSync(join(DIST, STAMP), 'utf8');
  } catch {
    return null;
  }
}
