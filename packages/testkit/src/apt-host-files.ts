import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ARCHIVES } from './apt-archive.ts';
import { runTool } from './run-tool.ts';

const FOLDERS = [
  ...['var/lib/dpkg/info', 'var/lib/dpkg/updates', 'var/lib/dpkg/triggers', 'var/lib/apt/lists/partial'],
  ...['var/cache/apt/archives/partial', 'var/log/apt', 'tmp', 'etc/apt/apt.conf.d', 'etc/apt/preferences.d'],
  ...['etc/apt/sources.list.d', 'etc/apt/trusted.gpg.d'],
];

type HostPlaces = { root: string; adminDir: string; aptConf: string; uri: string; architecture: string };

/** Writes an empty package database and the configuration that turns apt and dpkg to it and to the archive. */
export async function writeAptHostFiles(
  host: HostPlaces,
  architectures: readonly string[] = [host.architecture],
): Promise<void> {
  for (const folder of FOLDERS) await mkdir(join(host.root, folder), { recursive: true });
  for (const file of ['status', 'available']) await writeFile(join(host.adminDir, file), '');
  const sources = Object.values(ARCHIVES).map(
    ({ codename }) => `deb [trusted=yes] ${host.uri} ${codename} main\n`,
  );
  await writeFile(join(host.root, 'etc/apt/sources.list'), sources.join(''));
  await writeFile(host.aptConf, aptConfiguration(host, architectures));
  await openToReaders(host.aptConf);
}

/** What makes dpkg work on the host's folder, without root and without entering it. */
export function dpkgOptions(root: string): string[] {
  return [`--root=${root}`, '--force-not-root', '--force-script-chrootless', '--log=/dev/null'];
}

/** Lets every user read what lies there, whatever the umask was: an agent drops its rights before it looks. */
export async function openToReaders(path: string): Promise<void> {
  await runTool('chmod', ['-R', 'a+rX', path]);
}

function aptConfiguration({ root, architecture }: HostPlaces, architectures: readonly string[]): string {
  const options = dpkgOptions(root).map((option) => `"${option}"; `);
  return [
    `Dir "${root}";`,
    `Dir::State::status "${root}/var/lib/dpkg/status";`,
    'Dir::Bin::dpkg "/usr/bin/dpkg";',
    `APT::Architecture "${architecture}";`,
    `APT::Architectures { ${architectures.map((name) => `"${name}"; `).join('')}};`,
    'APT::Sandbox::User "";', // only root could change to _apt
    'Acquire::ForceHash "SHA256";',
    'Acquire::Languages "none";',
    'Acquire::http::Proxy "DIRECT";', // the archive is on this machine, whatever http_proxy says
    'Debug::NoLocking "true";',
    'Dpkg::Use-Pty "false";',
    `Dpkg::Options { ${options.join('')}};`,
    '',
  ].join('\n');
}
