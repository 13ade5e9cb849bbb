import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Where system tools lie, in this order, whatever the caller's PATH says. */
export const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';

export type ToolOptions = {
  cwd?: string;
  env?: Record<string, string>;
  /** The user to run as; only root can choose. */
  owner?: { uid: number; gid: number };
  input?: string;
};

/**
 * Runs a system tool to its end in a bare environment (`SYSTEM_PATH`, C locale, UTC) and returns its standard
 * output. Throws with the tool's own words when it cannot be started or ends with anything but 0.
 */
export async function runTool(
  command: string,
  args: readonly string[],
  options: ToolOptions = {},
): Promise<string> {
  const child = spawn(command, [...args], {
    cwd: options.cwd ?? '/',
    env: { PATH: SYSTEM_PATH, LC_ALL: 'C', TZ: 'UTC', ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...options.owner,
  });
  child.stdin.on('error', () => {}); // a tool may end before it has read its input; its exit code tells
  child.stdin.end(options.input ?? '');
  const [output, errors, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code === 0) return output;
  throw new Error(`${command} ${args.join(' ')} ended with ${signal ?? code}: ${errors}${output}`.trimEnd());
}

/** The full path of an executable in one of the folders of `path`, or null when there is none. */
export function findTool(name: string, path = SYSTEM_PATH): string | null {
  for (const folder of path.split(delimiter)) {
    if (!folder.startsWith('/')) continue; // a relative entry would run whatever lies in the working directory
    const file = join(folder, name);
    if (isExecutable(file)) return file;
  }
  return null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
