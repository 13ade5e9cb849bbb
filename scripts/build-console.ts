import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

// Builds the console into apps/console/dist. With --when-stale only where its sources changed since the last build.
const ROOT = join(import.meta.dirname, '..');
const CONSOLE = join(ROOT, 'apps/console');
const STAMP = join(CONSOLE, 'dist/sources.sha256');
/** What browsers fetch compressed; pictures are small. */
const COMPRESSED = ['apps/console/dist/assets', 'apps/console/dist/index.html'];
/** What the build reads; the lockfile stands for the libraries. */
const SOURCES = [
  'apps/console/src',
  'apps/console/public',
  'apps/console/index.html',
  'apps/console/vite.config.ts',
  'packages/protocol/src',
  'scripts/build-console.ts',
  'package-lock.json',
];

const wanted = hashOfSources();
if (!process.argv.includes('--when-stale') || builtFrom() !== wanted) {
  const started = performance.now();
  process.stderr.write('Building the console…\n');
  // Whatever the caller runs as: tests would get the slower and larger libraries of development.
  process.env.NODE_ENV = 'production';
  const { build } = await import('vite');
  await build({ root: CONSOLE, configFile: join(CONSOLE, 'vite.config.ts'), logLevel: 'warn' });
  for (const path of COMPRESSED.flatMap((folder) => filesOf(folder))) compress(join(ROOT, path));
  writeFileSync(STAMP, wanted);
  process.stderr.write(`Console built in ${((performance.now() - started) / 1_000).toFixed(1)} s.\n`);
}

function hashOfSources(): string {
  const hash = createHash('sha256');
  for (const path of SOURCES.flatMap(filesOf).toSorted())
    hash.update(`${path}\0`).update(readFileSync(join(ROOT, path)));
  return hash.digest('hex');
}

/** Beside the file, where the server finds it for who takes it: nothing is compressed for a request. */
function compress(file: string): void {
  const bytes = readFileSync(file);
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(`${file}.br`, brotliCompressSync(bytes));
}

function filesOf(path: string): string[] {
  const full = join(ROOT, path);
  try {
    return readdirSync(full, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
      .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return [path];
    throw error;
  }
}

function builtFrom(): string | null {
  try {
    return readFileSync(STAMP, 'utf8');
  } catch {
    return null;
  }
}
