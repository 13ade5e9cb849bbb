import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

// Builds packages/capability/dist as a package that can be published: it runs without this repository and has no dependency.

const ROOT = dirname(import.meta.dirname);
const SOURCE = join(ROOT, 'packages/capability');
const USAGE = `Usage: node scripts/build-capability.ts [--outdir DIR]
Builds @tidegate/capability, ready to publish, into packages/capability/dist or into DIR.
`;
/** The library that is bundled, so that the package has no dependency. Its licence is included. */
const BUNDLED = 'smol-toml';

const { values } = parseArgs({
  options: { outdir: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
});
if (values.help) process.stdout.write(USAGE);
else process.exitCode = await buildPackage(values.outdir ?? join(SOURCE, 'dist'));

/** Returns the exit code. */
async function buildPackage(outDir: string): Promise<number> {
  rmSync(outDir, { recursive: true, force: true });
  mkdirSync(outDir, { recursive: true });
  await bundle(outDir);
  if (!writeTypes(join(outDir, 'types'))) return 1;
  chmodSync(join(outDir, 'cli.js'), 0o755);
  writeFileSync(join(outDir, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
  copyFileSync(join(ROOT, 'LICENSE'), join(outDir, 'LICENSE'));
  copyFileSync(join(SOURCE, 'README.md'), join(outDir, 'README.md'));
  writeFileSync(join(outDir, 'THIRD-PARTY-LICENSES'), thirdParty());
  process.stderr.write(`Built ${outDir}\n`);
  return 0;
}

async function bundle(outDir: string): Promise<void> {
  const { build } = await import('vite');
  await build({
    ...{ root: SOURCE, configFile: false, logLevel: 'warn' },
    ssr: { noExternal: [BUNDLED] },
    build: {
      ...{ outDir, emptyOutDir: false, ssr: true, target: 'node24', minify: false },
      rolldownOptions: {
        input: { capability: join(SOURCE, 'src/capability.ts'), cli: join(SOURCE, 'src/cli.ts') },
        output: { format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'rules-[hash].js' },
      },
    },
  });
}

/** Writes the type declarations, whose imports name the published `.js` files. */
function writeTypes(outDir: string): boolean {
  const compiled = spawnSync(
    process.execPath,
    [
      join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc'),
      ...[
        '--ignoreConfig',
        '--declaration',
        '--emitDeclarationOnly',
        '--outDir',
        outDir,
        '--target',
        'esnext',
      ],
      ...['--module', 'nodenext', '--strict', '--exactOptionalPropertyTypes', '--allowImportingTsExtensions'],
      ...['--skipLibCheck', '--types', 'node', join(SOURCE, 'src/capability.ts')],
    ],
    { encoding: 'utf8', cwd: ROOT },
  );
  process.stderr.write(compiled.stdout + compiled.stderr);
  if (compiled.status !== 0) return false;
  for (const name of readdirSync(outDir)) {
    const file = join(outDir, name);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replaceAll(/(from '\.\/[a-z-]+|import\("\.\/[a-z-]+)\.ts/g, '$1.js'),
    );
  }
  return true;
}

function manifest() {
  const { name, version, license } = JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8'));
  return {
    ...{ name, version, license, type: 'module' },
    description: 'Capability files: which commands of the host a window or webview may use',
    keywords: ['capabilities', 'permissions', 'acl', 'tauri', 'desktop', 'webview'],
    exports: {
      '.': { types: './types/capability.d.ts', default: './capability.js' },
      './package.json': './package.json',
    },
    main: './capability.js',
    types: './types/capability.d.ts',
    bin: { 'tidegate-capability': './cli.js' },
    engines: { node: '>=24' },
    sideEffects: ['./cli.js'],
    files: ['*.js', 'types', 'LICENSE', 'README.md', 'THIRD-PARTY-LICENSES'],
  };
}

function thirdParty(): string {
  // Its main file is in `dist`; it does not export its package.json.
  const folder = dirname(dirname(createRequire(join(SOURCE, 'package.json')).resolve(BUNDLED)));
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return `Bundled in this package:\n\n${BUNDLED} ${version}\n\n${readFileSync(join(folder, 'LICENSE'), 'utf8')}`;
}
