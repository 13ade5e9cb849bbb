import { readdirSync, readFileSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { aptDriver } from '../ecosystems/apt/apt.ts';
import { findAptPlaces } from '../ecosystems/apt/installed.ts';
import { findDnfPlaces, isDnfHost } from '../ecosystems/dnf/places.ts';
import { withDnfSession } from '../ecosystems/dnf/session.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { runProgram } from '../platform/run-program.ts';
import {
  debRelease,
  type InstalledKernel,
  judgeKernel,
  type KernelVerdict,
  rpmReleases,
  runningVersion,
} from './kernel-rules.ts';

const LIMITS = { timeoutMs: 60_000, maxOutputBytes: 4 * 1024 * 1024 };
const DEB_PATTERNS = ['linux-image-*', 'pve-kernel-*', 'proxmox-kernel-*'];
/** Where proxmox-boot-tool notes a pinned release: for the next boot alone, and for all. */
const PINS = ['etc/kernel/next-boot-pin', 'etc/kernel/proxmox-boot-pin'];

/** Compares the running kernel with those that could boot next. `root` is `/` except in tests. */
export async function readKernels(paths: HostPaths, root: string): Promise<KernelVerdict> {
  const release = firstLine(root, 'proc/sys/kernel/osrelease');
  // Debian packages rpm and dnf too, and Fedora apt: only dnf's check looks at the database.
  if (await isDnfHost(paths)) {
    const installed = await rpmKernels(paths);
    if (typeof installed === 'string') return unknown(release, installed);
    const bootable = await keepBootable(root, installed);
    if (typeof bootable === 'string') return unknown(release, bootable);
    const version = rpmVersion(release, installed);
    return judgeKernel({ ecosystem: 'dnf', running: { release, version }, bootable, pinned: null });
  }
  if (await aptDriver.present(paths)) {
    const installed = await debKernels(paths);
    if (typeof installed === 'string') return unknown(release, installed);
    const signature = firstLine(root, 'proc/version_signature');
    const version = runningVersion({ signature, uname: firstLine(root, 'proc/sys/kernel/version') });
    const pinned = PINS.map((path) => firstLine(root, path)).find((line) => line !== '') ?? null;
    const bootable = await keepBootable(root, installed);
    if (typeof bootable === 'string') return unknown(release, bootable);
    return judgeKernel({ ecosystem: 'apt', running: { release, version }, bootable, pinned });
  }
  return unknown(release, 'this host has neither dpkg nor rpm');
}

function unknown(release: string, reason: string): KernelVerdict {
  return { kind: 'unknown', reason, running: { release } };
}

/** dpkg-query fails where one pattern matches nothing; what it then says is the list all the same. */
async function debKernels(paths: HostPaths): Promise<InstalledKernel[] | string> {
  const places = await findAptPlaces(paths);
  if (!places.ok) return places.reason;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a format of dpkg-query
  const format = '${db:Status-Status}\t${Package}\t${Version}\n';
  const args = ['--admindir', places.value.adminDir, '-W', '-f', format, ...DEB_PATTERNS];
  const answer = await runProgram({ program: 'dpkg-query', args, ...LIMITS });
  const isNoMatch = answer.stderr.split('\n').every((line) => line === '' || /no packages found/.test(line));
  if (!answer.ok && !(answer.reason === 'failed' && isNoMatch)) return answer.detail;
  return answer.stdout.split('\n').flatMap((line) => {
    const [status, name = '', version = ''] = line.split('\t');
    const release = debRelease(name);
    const isInstalled = status === 'installed' || status?.startsWith('triggers-') === true;
    return isInstalled && release !== null ? [{ release, package: name, version }] : [];
  });
}

async function rpmKernels(paths: HostPaths): Promise<InstalledKernel[] | string> {
  const places = await findDnfPlaces(paths);
  if (!places.ok) return places.reason;
  const args = ['-qa', '--qf', '%{NAME}\t%{VERSION}-%{RELEASE}\t%{ARCH}\n', 'kernel*'];
  const answer = await withDnfSession(places.value, null, (session) => session.rpm(args, LIMITS));
  if (!answer.ok) return answer.detail;
  return answer.stdout.split('\n').flatMap((line) => {
    const [name = '', version = '', arch = ''] = line.split('\t');
    return rpmReleases({ name, version, arch }).map((release) => ({ release, package: name, version }));
  });
}

/** A release of rpm holds the version, but only where a package, or its distribution's mark, says that it is one. */
function rpmVersion(release: string, installed: readonly InstalledKernel[]): string | null {
  const own = installed.find((kernel) => kernel.release === release);
  if (own !== undefined) return own.version;
  return /^(\d\S*\.(?:el|fc|amzn)\d\S*)\.[a-z0-9_]+(?:\+\w+)?$/.exec(release)?.[1] ?? null;
}

/** Those with an image: a package may be installed while its image was removed from the boot partition. */
async function keepBootable(
  root: string,
  kernels: readonly InstalledKernel[],
): Promise<InstalledKernel[] | string> {
  const names = new Set<string>();
  try {
    for (const name of readdirSync(join(root, 'boot'))) names.add(name);
  } catch {
    return '/boot cannot be read';
  }
  const bootable: InstalledKernel[] = [];
  for (const kernel of kernels) {
    const { release } = kernel;
    const isInBoot = names.has(`vmlinuz-${release}`) || names.has(`vmlinux-${release}`);
    if (isInBoot || (await hasImage(root, release))) bootable.push(kernel);
  }
  return bootable;
}

/** Fedora and RHEL keep the image beside the modules and copy it to the boot partition. */
function hasImage(root: string, release: string): Promise<boolean> {
  return access(join(root, 'usr/lib/modules', release, 'vmlinuz'), constants.F_OK).then(
    () => true,
    () => false,
  );
}

/** Empty where there is no such file. */
function firstLine(root: string, path: string): string {
  try {
    return (readFileSync(join(root, path), 'utf8').split('\n')[0] ?? '').trim().slice(0, 200);
  } catch {
    return '';
  }
}
