import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { PROGRAM_NAME, programOf, readLayout, VERSIONS_FOLDER } from '../ecosystems/tidegate/layout.ts';
import { isAgentVersion } from '../ecosystems/tidegate/release-rules.ts';
import { errorCode, syncFolder, writeDurably } from '../platform/file-layer.ts';
import { secureFolder } from '../platform/root-folder.ts';
import { AGENT_UNIT } from './agent-trial.ts';
import { switchLink } from './agent-versions.ts';

export interface LayOptions {
  /** The running program, and its version. */
  program: string;
  version: string;
  folder: string;
  /** What root's units and people call; becomes a link to the proven version. */
  command: string;
  /** Where systemd reads changes of units. */
  units: string;
  configFolder: string;
}

export type LayOutcome = { ok: true } | { ok: false; detail: string };

/**
 * Lays this program beside others as the version in use and the proven one, so that the executor can switch. Can be made
 * again, also by a newer program that was copied to the host by hand.
 */
export function layVersions(options: LayOptions): LayOutcome {
  const { program, version, folder, command, units, configFolder } = options;
  if (!isAgentVersion(version)) return { ok: false, detail: `${version} is no version of a release` };
  const before = readLayout(folder);
  if (before.ok && before.layout.running !== before.layout.proven) {
    return { ok: false, detail: `version ${before.layout.running} is on trial: try again when it has ended` };
  }
  for (const place of [folder, dirname(command), units]) {
    const secured = secureFolder(place, { mode: 0o755, isGivenAway: false });
    if (!secured.ok) return secured;
  }
  try {
    if (!isThere(folder, { program, version })) addProgram(folder, { program, version });
    switchLink(folder, 'agent', version);
    switchLink(folder, 'proven', version);
    replaceByLink(command, relative(dirname(command), join(folder, 'proven')));
    writeDropIn(join(units, `${AGENT_UNIT}.d`), `${join(folder, 'agent')} run --config ${configFolder}`);
    return { ok: true };
  } catch (error) {
    return { ok: false, detail: `the versions cannot be laid out (${errorCode(error)})` };
  }
}

/** Whether this very program is the version already: through the link of an earlier call. */
function isThere(folder: string, { program, version }: { program: string; version: string }): boolean {
  const place = join(folder, programOf(version));
  return existsSync(place) && realpathSync(place) === realpathSync(program);
}

function addProgram(folder: string, { program, version }: { program: string; version: string }): void {
  const versions = join(folder, VERSIONS_FOLDER);
  const incoming = join(versions, `.${version}`);
  mkdirSync(versions, { recursive: true, mode: 0o755 });
  rmSync(incoming, { recursive: true, force: true });
  mkdirSync(incoming);
  const copy = join(incoming, PROGRAM_NAME);
  copyFileSync(program, copy);
  for (const path of [versions, incoming, copy]) chmodSync(path, 0o755);
  const file = openSync(copy, 'r+');
  fsyncSync(file);
  closeSync(file);
  syncFolder(incoming);
  const place = dirname(join(folder, programOf(version)));
  const old = join(versions, `.old-${version}`);
  rmSync(old, { recursive: true, force: true });
  try {
    renameSync(place, old);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  renameSync(incoming, place);
  syncFolder(versions);
  rmSync(old, { recursive: true, force: true });
}

function replaceByLink(path: string, target: string): void {
  const incoming = `${path}.link`;
  rmSync(incoming, { force: true });
  symlinkSync(target, incoming);
  renameSync(incoming, path);
  syncFolder(dirname(path));
}

function writeDropIn(folder: string, command: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  chmodSync(folder, 0o755);
  const text = `# Written by "tidegate-agent side-by-side".
[Service]
ExecStart=
ExecStart=${command}
`;
  writeDurably(join(folder, 'side-by-side.conf'), new TextEncoder().encode(text), { mode: 0o644 });
}
