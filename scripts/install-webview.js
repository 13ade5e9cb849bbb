// Runs before `npm run shell` and the stories, on the Node of the system (20 or newer). If the Node that runs npm is older
// than 24, npm does not install the native part of the webview, although the shell itself runs on the Node from the
// lockfile. In that case this script installs the packages again with that Node.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const npm = process.env.npm_execpath;
const pinned = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.exe' : 'node');

const missing = missingPackage();
if (missing !== null && npm && existsSync(pinned)) installWith(realpathSync(pinned));
if (missingPackage() !== null) {
  process.stderr.write(
    `${missing} is not installed, so the shell can only use Chromium. To install it, run "npm ci" with Node 24.\n`,
  );
}

/** The webview package for this platform in the lockfile; null if it is installed or does not exist. */
function missingPackage() {
  const isGlibc = process.report.getReport().header.glibcVersionRuntime !== undefined;
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const [path] =
    Object.entries(packages).find(
      ([place, { os = [], cpu = [], libc }]) =>
        place.startsWith('node_modules/@webviewjs/webview-') &&
        os.includes(process.platform) &&
        cpu.includes(process.arch) &&
        (libc === undefined || libc.includes(isGlibc ? 'glibc' : 'musl')),
    ) ?? [];
  if (path === undefined || existsSync(join(root, path))) return null;
  return path.replace('node_modules/', '');
}

/** Installs with a copy of this Node, because the installation removes the folder that contains it. */
function installWith(node) {
  process.stderr.write(
    `Installing ${missing} with the Node from the lockfile; this takes about half a minute…\n`,
  );
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-node-'));
  try {
    const copy = join(folder, process.platform === 'win32' ? 'node.exe' : 'node');
    copyFileSync(node, copy);
    const args = [npm, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const { status } = spawnSync(copy, args, { cwd: root, stdio: ['ignore', 2, 2] });
    if (status !== 0) {
      process.stderr.write(
        'The packages could not be installed; see the lines above for the reason, then run "npm ci".\n',
      );
      process.exit(1);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
