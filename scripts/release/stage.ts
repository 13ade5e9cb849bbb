import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { PROGRAM as AGENT } from '../../apps/agent/src/command-line.ts';
import { PROGRAM as CTL } from '../../apps/ctl/src/program.ts';
import { PROGRAM as SERVER } from '../../apps/server/src/cli/commands.ts';
import { bashCompletion } from '../../packages/command-line/src/complete-bash.ts';
import { fishCompletion } from '../../packages/command-line/src/complete-fish.ts';
import { zshCompletion } from '../../packages/command-line/src/complete-zsh.ts';
import type { Program } from '../../packages/command-line/src/declare.ts';
import { manPage } from '../../packages/command-line/src/man-page.ts';
import { compileAgent } from '../compile-agent.ts';
import { bundleServer } from './bundle-server.ts';
import { buildConsole } from './console.ts';
import { folderOf, type LockedPackage, lockedEntry, lockedPackage } from './locked-packages.ts';
import { isLinux, type LinuxTarget, TARGETS, type Target } from './targets.ts';
import { filesOf, put, putText, type TreeFile } from './tree.ts';

const ROOT = join(import.meta.dirname, '../..');
const PACKAGING = join(ROOT, 'packaging');

/** Version, and time in seconds since 1970, of the release. */
export interface About {
  version: string;
  epochSeconds: number;
}

/** A product laid out as it is on a host, and what is inside besides its own code. */
export interface Staged {
  tree: string;
  /** Every file of the tree. */
  files: TreeFile[];
  packages: LockedPackage[];
  runtime: { package: LockedPackage; libraries: Record<string, string> };
}

/** What both targets of the server share: built once. */
export interface ServerParts {
  bundle: string;
  console: string;
  packages: LockedPackage[];
}

/** Builds the bundle and the console below `work`. */
export async function buildServerParts(work: string): Promise<ServerParts> {
  const bundle = join(work, 'bundle');
  const console = join(work, 'console');
  const folders = new Set([...(await bundleServer(bundle)), ...(await buildConsole(console))]);
  return { bundle, console, packages: [...folders].sort().map(lockedEntry) };
}

/** Lays out the server for a target: the Node of the lockfile, the bundle, the console, units and settings. */
export function stageServer(tree: string, target: LinuxTarget, parts: ServerParts, about: About): Staged {
  const { node, argon2 } = TARGETS[target];
  const program = 'usr/lib/tidegate';
  put(tree, `${program}/bin/node`, join(lockedPackage(node), 'bin/node'));
  put(tree, `${program}/server`, parts.bundle);
  put(tree, `${program}/server/node_modules/${argon2}`, lockedPackage(argon2));
  put(tree, `${program}/console`, parts.console);
  putText(
    tree,
    `${program}/package.json`,
    json({ name: 'tidegate', version: about.version, type: 'module' }),
  );
  put(tree, 'usr/bin/tidegate', join(PACKAGING, 'server/tidegate'));
  put(tree, 'usr/bin/tidegatectl', join(PACKAGING, 'server/tidegatectl'));
  put(tree, 'usr/lib/systemd/system', join(PACKAGING, 'server/systemd'));
  put(tree, 'usr/lib/sysusers.d/tidegate.conf', join(PACKAGING, 'server/sysusers.conf'));
  putShellFiles(tree, SERVER, about);
  putShellFiles(tree, CTL, about);
  put(tree, 'etc/tidegate/server.env', join(PACKAGING, 'server/server.env'));
  const packages = [...parts.packages, lockedEntry(`node_modules/${argon2}`)];
  const runtime = lockedEntry(`node_modules/${node}`);
  for (const name of ['configuration.md', 'install.md', 'operator-guide.md'])
    put(tree, `usr/share/doc/tidegate/${name}`, join(ROOT, 'docs', name));
  putDocuments(tree, 'tidegate', [...packages, runtime]);
  const libraries = versionsOf(process.execPath);
  return { tree, files: filesOf(tree), packages, runtime: { package: runtime, libraries } };
}

/**
 * Compiles the agent for a target and lays it out with its units and the key of the repository that its updates come from; on
 * macOS and Windows it is the program alone.
 */
export function stageAgent(
  tree: string,
  target: Target,
  { publicAsc, ...about }: About & { publicAsc: string | null },
): Staged {
  const { bun } = TARGETS[target];
  const program = target.startsWith('windows') ? 'tidegate-agent.exe' : 'usr/bin/tidegate-agent';
  const compiled = compileAgent({ target: bun, outfile: join(tree, program) });
  if (!compiled.ok) throw new Error(compiled.fault);
  const packages = compiled.packages.map(lockedEntry);
  if (isLinux(target)) {
    putShellFiles(tree, AGENT, about);
    put(tree, 'usr/lib/systemd/system', join(PACKAGING, 'agent/systemd'));
    put(tree, 'usr/lib/sysusers.d/tidegate-agent.conf', join(PACKAGING, 'agent/sysusers.conf'));
    if (publicAsc !== null) putText(tree, 'usr/share/keyrings/tidegate-agent.asc', publicAsc);
  }
  const { runtime, compiler } = compiled;
  putDocuments(tree, 'tidegate-agent', [...packages, runtime]);
  const libraries = versionsOf(compiler);
  return { tree, files: filesOf(tree), packages, runtime: { package: runtime, libraries } };
}

/** The man page and the completions of a program, from the declarations behind its --help. */
function putShellFiles(tree: string, program: Program, { version, epochSeconds }: About): void {
  const { name, section } = program;
  const date = new Date(epochSeconds * 1_000).toISOString().slice(0, 10);
  const page = gzipSync(manPage(program, { version, date }), { level: 9 });
  putText(tree, `usr/share/man/man${section}/${name}.${section}.gz`, page);
  putText(tree, `usr/share/bash-completion/completions/${name}`, bashCompletion(program));
  // Debian's place and that of the others.
  for (const folder of ['vendor-completions', 'site-functions'])
    putText(tree, `usr/share/zsh/${folder}/_${name}`, zshCompletion(program));
  putText(tree, `usr/share/fish/vendor_completions.d/${name}.fish`, fishCompletion(program));
}

/** The licence of Tidegate, and those of everything inside, which ask to be passed on. */
function putDocuments(tree: string, name: string, packages: readonly LockedPackage[]): void {
  put(tree, `usr/share/doc/${name}/copyright`, join(ROOT, 'LICENSE'));
  const notices = packages
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((found) => {
      const heading = `${found.name} ${found.version} (${found.license ?? 'see its text'})`;
      return [heading, '='.repeat(heading.length), ...licenceTexts(folderOf(found))].join('\n\n');
    });
  putText(tree, `usr/share/doc/${name}/THIRD-PARTY-NOTICES`, `${notices.join('\n\n\n')}\n`);
}

function licenceTexts(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^(licen[cs]e|notice|copying)/i.test(name))
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8').trim());
}

/** The libraries that are compiled into Node or Bun. They are the same for every target of one version. */
function versionsOf(program: string): Record<string, string> {
  const text = execFileSync(program, ['-p', 'JSON.stringify(process.versions)'], { encoding: 'utf8' });
  const versions: Record<string, string> = JSON.parse(text);
  const own = new Set(['node', 'bun', 'modules', 'napi']);
  return Object.fromEntries(
    Object.entries(versions).filter(([name, value]) => !own.has(name) && value !== ''),
  );
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
