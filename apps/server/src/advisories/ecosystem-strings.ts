import type { Ecosystem } from '@tidegate/protocol/scalars';

/** The ID and VERSION_ID of a host's os-release file. */
export interface HostSystem {
  readonly id: string;
  readonly versionId: string;
}

export type OsvEcosystem =
  | { readonly covered: true; readonly name: string }
  /** No database covers this system: its packages are `unchecked`, never `clear`. */
  | { readonly covered: false; readonly why: string };

/** OSV's name for an ecosystem on a host (OSV schema, "Defined ecosystems"). */
export function osvEcosystem(ecosystem: Ecosystem, system: HostSystem): OsvEcosystem {
  switch (ecosystem) {
    case 'npm':
      return { covered: true, name: 'npm' };
    case 'pypi':
      return { covered: true, name: 'PyPI' };
    case 'apt':
      return named(aptEcosystem(system), system);
    case 'dnf':
      return named(dnfEcosystem(system), system);
    case 'tidegate':
      return { covered: false, why: 'no vulnerability database covers the agent of Tidegate' };
  }
}

function named(name: string | null, { id, versionId }: HostSystem): OsvEcosystem {
  if (name !== null) return { covered: true, name };
  return { covered: false, why: `no vulnerability database covers ${id} ${versionId}`.trim() };
}

function aptEcosystem({ id, versionId }: HostSystem): string | null {
  const [major = ''] = versionId.split('.');
  switch (id) {
    case 'debian':
      if (versionId === '') return 'Debian:sid';
      return isNumber(major) ? `Debian:${major}` : null;
    case 'ubuntu':
      return ubuntu(versionId);
    default:
      // A derivative rebuilds packages under its own versions: its parent's data does not apply.
      return null;
  }
}

/** `Ubuntu:22.04` would also match records of the paid Pro releases: long-term releases need the suffix. */
function ubuntu(versionId: string): string | null {
  const release = /^(\d{2})\.(\d{2})$/.exec(versionId);
  if (!release) return null;
  const isLongTerm = Number(release[1]) % 2 === 0 && release[2] === '04';
  return isLongTerm ? `Ubuntu:${versionId}:LTS` : `Ubuntu:${versionId}`;
}

function dnfEcosystem({ id, versionId }: HostSystem): string | null {
  const [major = '', minor = ''] = versionId.split('.');
  if (id === 'opensuse-tumbleweed') return 'openSUSE:Tumbleweed';
  if (!isNumber(major)) return null;
  switch (id) {
    case 'almalinux':
      return `AlmaLinux:${major}`;
    case 'rocky':
      return `Rocky Linux:${major}`;
    case 'opensuse-leap':
      return `openSUSE:Leap ${versionId}`;
    case 'sles':
      return `SUSE:Linux Enterprise Server ${major}${isNumber(minor) && minor !== '0' ? ` SP${minor}` : ''}`;
    case 'azurelinux':
      return `Azure Linux:${major}`;
    case 'mageia':
      return `Mageia:${major}`;
    default:
      // Fedora, CentOS Stream, Amazon and Oracle Linux have no data; Red Hat's is keyed by repository stream (CPE),
      // openEuler's by service pack, which os-release lacks; Photon's versions cannot be ordered by the server.
      return null;
  }
}

function isNumber(text: string): boolean {
  return /^\d{1,8}$/.test(text);
}
