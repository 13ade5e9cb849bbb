/** The ecosystems whose versions can be ordered, as they are spelt on the wire. */
export type Ecosystem = 'npm' | 'pypi' | 'apt' | 'dnf' | 'tidegate';

// Fedora, CentOS Stream, Amazon Linux and Oracle Linux have no OSV ecosystem.
const orderingEcosystems = new Map<string, Ecosystem>([
  ['npm', 'npm'],
  ['PyPI', 'pypi'],
  ['Debian', 'apt'],
  ['Ubuntu', 'apt'],
  ['AlmaLinux', 'dnf'],
  ['Rocky Linux', 'dnf'],
  ['Red Hat', 'dnf'],
  ['openSUSE', 'dnf'],
  ['SUSE', 'dnf'],
  ['Azure Linux', 'dnf'],
  ['Mageia', 'dnf'],
  ['openEuler', 'dnf'],
  ['Photon OS', 'dnf'],
]);

/** Which order the versions of an OSV ecosystem string (`Debian:12`) follow; null for an unknown one. */
export function orderingEcosystem(osvEcosystem: string): Ecosystem | null {
  return orderingEcosystems.get(baseOf(osvEcosystem)) ?? null;
}

/**
 * Whether a record of one ecosystem string applies to a host of another. A bare `Debian` covers every release. A
 * host that names its release less exactly than the record does is `unclear`: exact equality would call it clean.
 */
export function ecosystemCovers({
  record,
  host,
}: {
  record: string;
  host: string;
}): 'yes' | 'no' | 'unclear' {
  if (record === host || record === baseOf(host)) return 'yes';
  return record.startsWith(`${host}:`) ? 'unclear' : 'no';
}

/** Records of openEuler omit the epoch: a version that has one would sort above every fix and look clean. */
export function losesEpochs(osvEcosystem: string): boolean {
  return baseOf(osvEcosystem) === 'openEuler';
}

export function hasEpoch(version: string): boolean {
  return /^0*[1-9][0-9]*:/.test(version);
}

function baseOf(osvEcosystem: string): string {
  return osvEcosystem.split(':', 1)[0] ?? '';
}
