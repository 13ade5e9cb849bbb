import type { Ecosystem } from '@tidegate/protocol/scalars';

/** Repositories that are not the distribution's; OSV has no data about their packages. */
const FOREIGN_DNF_REPOSITORY =
  /^(epel|elrepo|rpmfusion|remi|copr[:_]|docker|nodesource|pgdg|mysql|mariadb|mongodb|nginx|google|microsoft|packages-microsoft|code$|hashicorp|kubernetes|gitlab|github|grafana|elastic|influx|nvidia|cuda|zabbix|percona|jenkins|yarn)/i;
const DISTRIBUTION_LABEL = /^(debian|ubuntu)([ -].*)?$/i;
const DISTRIBUTION_SITE = /(^|\.)(debian\.org|ubuntu\.com)$/i;

/**
 * Whether a package comes from a repository other than the distribution's own. The origin is what the package manager
 * prints: `Label:version/suite` of apt, the repository's id of dnf. A missing origin counts as the distribution's.
 */
export function isForeignOrigin(ecosystem: Ecosystem, origin: string | undefined): boolean {
  if (origin === undefined || origin === '') return false;
  switch (ecosystem) {
    case 'apt':
      return origin.split(', ').every(isForeignArchive);
    case 'dnf':
      return FOREIGN_DNF_REPOSITORY.test(origin);
    case 'npm':
    case 'pypi':
      return false;
  }
}

function isForeignArchive(archive: string): boolean {
  if (archive.includes('://')) return !DISTRIBUTION_SITE.test(hostOf(archive));
  const label = archive.split(':', 1)[0] ?? '';
  if (label !== archive) return !DISTRIBUTION_LABEL.test(label);
  // apt prints the site when an archive has no release file.
  return /^[\w-]+(\.[\w-]+)+$/.test(archive) && !DISTRIBUTION_SITE.test(archive);
}

function hostOf(address: string): string {
  return URL.parse(address)?.hostname ?? '';
}
