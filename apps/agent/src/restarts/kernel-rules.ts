import type { KernelSeen } from '@tidegate/protocol/restarts';
import { compareVersions } from '@tidegate/versions';

/** A kernel that a package brought and that the next boot could start. */
export interface InstalledKernel {
  /** As `uname -r` would say it. */
  release: string;
  package: string;
  version: string;
}

export interface KernelFacts {
  /** The order of the versions: dpkg's or rpm's. */
  ecosystem: 'apt' | 'dnf';
  running: { release: string; version: string | null };
  /** Only kernels whose image is there. */
  bootable: readonly InstalledKernel[];
  /** The release that the boot loader is pinned to (Proxmox); null without a pin. */
  pinned: string | null;
}

export type KernelVerdict =
  | { kind: 'current' | 'newer' | 'pinned'; running: KernelSeen; next: KernelSeen }
  | { kind: 'unknown'; reason: string; running: KernelSeen };

/** Compares the newest bootable kernel, or the pinned one, with the running one. */
export function judgeKernel({ ecosystem, running, bootable, pinned }: KernelFacts): KernelVerdict {
  const seen: KernelSeen = {
    release: running.release,
    ...(running.version === null ? {} : { version: running.version }),
  };
  const unknown = (reason: string): KernelVerdict => ({ kind: 'unknown', reason, running: seen });
  const candidates = pinned === null ? bootable : bootable.filter(({ release }) => release === pinned);
  if (pinned !== null && candidates.length === 0)
    return unknown(`the boot loader is pinned to ${pinned}, which no installed package provides`);
  const next = newestOf(ecosystem, candidates, running.release);
  if (next === null) return unknown('no installed package provides a bootable kernel');
  if (next === 'undecidable') return unknown('the versions of the installed kernels cannot be ordered');
  if (pinned !== null && pinned !== running.release) return { kind: 'pinned', running: seen, next };
  const own = bootable.find(({ release }) => release === running.release);
  if (own === undefined && running.version === null)
    return unknown(`the running kernel ${running.release} is of no installed package`);
  if (next.release === running.release && running.version === null)
    return unknown(`the running kernel ${running.release} does not say which build it is`);
  const order = compareVersions(ecosystem, next.version, running.version ?? own?.version ?? '');
  if (order === 'undecidable') return unknown('the version of the running kernel cannot be read');
  return { kind: order > 0 ? 'newer' : 'current', running: seen, next };
}

/** Of several with the newest version, such as flavours of one build, the running one. */
function newestOf(
  ecosystem: 'apt' | 'dnf',
  kernels: readonly InstalledKernel[],
  running: string,
): InstalledKernel | 'undecidable' | null {
  let newest: InstalledKernel | null = null;
  for (const kernel of kernels) {
    const order = newest === null ? 1 : compareVersions(ecosystem, kernel.version, newest.version);
    if (order === 'undecidable') return order;
    if (order > 0 || (order === 0 && kernel.release === running)) newest = kernel;
  }
  return newest;
}

/**
 * The version of the running kernel's package, from what it says of itself: `/proc/version_signature` on Ubuntu, and
 * `uname -v` on Debian and Proxmox. Null where neither names it.
 */
export function runningVersion({ signature, uname }: { signature: string; uname: string }): string | null {
  const ubuntu = /^Ubuntu (\d\S*)-[a-z0-9]+ /.exec(signature)?.[1];
  return ubuntu ?? /\b(?:Debian|PVE|PMX) (\d\S*)/.exec(uname)?.[1] ?? null;
}

const DEB = /^(?:linux-image-(?:unsigned-)?|pve-kernel-|proxmox-kernel-)(\d\S*?)(?:-signed)?$/;

/** The kernel release that a Debian package would bring; null for other packages. */
export function debRelease(name: string): string | null {
  return DEB.exec(name)?.[1] ?? null;
}

const RPM = /^kernel(?:-(rt|64k|debug|uek|lt|ml))?(?:-core)?$/;

/** The releases under which a kernel package of rpm may install its image; none for other packages. */
export function rpmReleases({
  name,
  version,
  arch,
}: {
  name: string;
  version: string;
  arch: string;
}): string[] {
  const match = RPM.exec(name);
  if (match === null) return [];
  const release = `${version.replace(/^\d+:/, '')}.${arch}`;
  const flavour = match[1];
  return flavour === undefined ? [release] : [release, `${release}+${flavour}`];
}
