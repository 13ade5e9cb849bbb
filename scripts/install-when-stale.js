// Runs before `npm start`, `npm test` and other scripts, on the Node of the system (20 or newer): installs the packages
// if node_modules does not match the lockfile. The scripts themselves then run on the Node from the lockfile.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const OLDEST_NODE_FOR_TYPESCRIPT = 24;
const root = dirname(dirname(fileURLToPath(import.meta.url)));

const stale = whatIsStale();
if (stale !== null) {
  process.stderr.write(`Installing packages (${stale}); this takes about half a minute…\n`);
  const started = Date.now();
  const npm = process.env.npm_execpath;
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--progress=true'];
  const options = { cwd: root, stdio: ['ignore', 2, 2] };
  const result = npm
    ? spawnSync(process.execPath, [npm, ...args], options)
    : spawnSync('npm', args, { ...options, shell: process.platform === 'win32' });
  if (result.status !== 0) {
    process.stderr.write(
      'The packages could not be installed; see the lines above for the reason, then run "npm ci".\n',
    );
    process.exit(1);
  }
  process.stderr.write(`Packages installed in ${((Date.now() - started) / 1000).toFixed(1)} s.\n`);
}

const hasPinnedNode = existsSync(
  join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node'),
);
const systemMajor = Number(process.versions.node.split('.')[0]);
if (!hasPinnedNode && systemMajor < OLDEST_NODE_FOR_TYPESCRIPT) {
  process.stderr.write(
    `The lockfile has no Node for ${process.platform}-${process.arch}, and Node ${process.versions.node} is too old.` +
      ` Install Node ${OLDEST_NODE_FOR_TYPESCRIPT} or newer.\n`,
  );
  process.exit(1);
}

/** Why node_modules does not match the lockfile; null if it does. */
function whatIsStale() {
  const wanted = packagesOf('package-lock.json');
  const installed = packagesOf(join('node_modules', '.package-lock.json'));
  if (installed === null) return 'first start';
  for (const [path, entry] of Object.entries(wanted ?? {})) {
    if (path === '' || entry.link || !path.includes('node_modules/')) continue;
    const present = installed[path];
    // npm does not install packages for other systems.
    if (!present && (entry.optional || entry.devOptional)) continue;
    if (present?.version !== entry.version) return `${path.replace(/^.*node_modules\//, '')} has changed`;
  }
  return null;
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
  } catch {
    return null;
  }
}
