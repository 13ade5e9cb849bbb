import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { type LockedPackage, lockedEntry, lockedPackage } from './release/locked-packages.ts';
import { packagesOf } from './release/packages-of.ts';

const ROOT = dirname(import.meta.dirname);
/** The Bun binary of each target, by Bun's name for the target: package and path. All are in the lockfile. */
const BUNS: Readonly<Record<string, { name: string; path: string }>> = {
  'bun-linux-x64': { name: '@oven/bun-linux-x64', path: 'bin/bun' },
  'bun-linux-arm64': { name: '@oven/bun-linux-aarch64', path: 'bin/bun' },
  'bun-darwin-arm64': { name: '@oven/bun-darwin-aarch64', path: 'bin/bun' },
  'bun-windows-x64': { name: '@oven/bun-windows-x64', path: 'bin/bun.exe' },
};
export const AGENT_TARGETS = Object.keys(BUNS);
/** Bun's name for this machine. */
export const OWN_TARGET = `bun-${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;

const Metafile = Type.Object({ inputs: Type.Record(Type.String(), Type.Unknown()) });

export interface CompileOptions {
  target: string;
  outfile: string;
  /** What the program says it is; default: its own version. */
  version?: string;
}

export type CompileOutcome =
  | {
      ok: true;
      /** Folders, as the lockfile names them, of the npm packages inside. */
      packages: string[];
      /** The package of the Bun that the program contains. */
      runtime: LockedPackage;
      /** The Bun that compiled it, a program for this machine. */
      compiler: string;
    }
  | { ok: false; fault: string };

/**
 * Compiles the agent into one program, with the Bun of the lockfile: the same bytes wherever and whenever. `target` is one
 * of `AGENT_TARGETS`; a Bun for another machine is fetched from the registry and compared with the lockfile.
 */
export function compileAgent({ target, outfile, version }: CompileOptions): CompileOutcome {
  const [own, wanted] = [BUNS[OWN_TARGET], BUNS[target]];
  if (own === undefined || wanted === undefined) {
    const name = own === undefined ? OWN_TARGET : target;
    return { ok: false, fault: `there is no Bun for ${name}; allowed: ${AGENT_TARGETS.join(', ')}` };
  }
  const compiler = join(lockedPackage(own.name), own.path);
  const runtime = join(lockedPackage(wanted.name), wanted.path);
  mkdirSync(dirname(outfile), { recursive: true });
  const metafile = `${outfile}.metafile.json`;
  const compiled = spawnSync(
    compiler,
    [
      'build',
      '--compile',
      ...['--bytecode', '--format=esm'], // 13 ms to the first line instead of 40
      '--compile-exec-argv=--smol', // a small heap that is collected often
      // No .env or bunfig.toml in the working directory may change what the agent does.
      '--no-compile-autoload-dotenv',
      '--no-compile-autoload-bunfig',
      '--external',
      'node:ffi', // Node's equivalent of bun:ffi, which only the tests use
      ...(version === undefined ? [] : ['--define', `TIDEGATE_AGENT_VERSION=${JSON.stringify(version)}`]),
      ...['--target', target, '--compile-executable-path', runtime],
      join(ROOT, 'apps/agent/src/main.ts'),
      ...['--outfile', outfile, `--metafile=${metafile}`],
    ],
    { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  if (compiled.status !== 0) return { ok: false, fault: `Bun ended with ${compiled.status}` };
  chmodSync(outfile, 0o755);
  const { inputs } = Value.Parse(Metafile, JSON.parse(readFileSync(metafile, 'utf8')));
  rmSync(metafile);
  const packages = packagesOf(Object.keys(inputs));
  return { ok: true, packages, runtime: lockedEntry(`node_modules/${wanted.name}`), compiler };
}
