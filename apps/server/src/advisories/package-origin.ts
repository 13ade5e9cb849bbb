import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { HostSystem } from './ecosystem-strings.ts';

/** Vendor of dnf's repositories that belong to the distribution. */
const DISTRIBUTION = 'distribution';
/** Well-known third parties, each with several repositories. */
const THIRD_PARTY =
  /^(epel|elrepo|rpmfusion|remi|copr[:_]|docker|nodesource|pgdg|mysql|mariadb|mongodb|nginx|google|microsoft|packages-microsoft|code$|hashicorp|kubernetes|gitlab|github|grafana|elastic|influx|nvidia|cuda|zabbix|percona|jenkins|yarn)/i;
/** Names that only the distributions with vulnerability data use; mirrors put something before or behind them. */
const DISTINCT_REPOSITORY =
  /(^|[-_.:/ ])(baseos|appstream|crb|powertools|highavailability|resilientstorage|resilient-storage|saphana|azurelinux-official|sle-(module|product)[\w.-]*)($|[-_.:/ ])/i;
/** Their other names, which anybody may use: only exactly so. `anaconda` is the installer. */
const DISTRIBUTION_REPOSITORY =
  /^(anaconda|base|updates|extras|extras-common|plus|devel|ha|nfv|rt|sap|(openSUSE:)?(repo-(oss|non-oss|update|update-non-oss|sle-update|backports-update)|update(-non-oss|-oss|-sle|-backports)?|oss|non-oss)|(updates-)?mageia-\w+)(-(debuginfo|source))?$/i;

const DISTRIBUTION_LABEL = /^(debian|ubuntu)([ -].*)?$/i;
const DISTRIBUTION_SITE = /(?:^|\.)(debian\.org|ubuntu\.com)$/i;

/**
 * Whether a package comes from a repository other than those of the host's distribution. The origin is what the package
 * manager prints: `Label:version/suite` of apt, the repository's id of dnf. Only what is recognised is the distribution's.
 */
export function isForeignOrigin(
  ecosystem: Ecosystem,
  { id }: Pick<HostSystem, 'id'>,
  origin: string,
): boolean {
  switch (ecosystem) {
    case 'apt':
      return !vendorsOf(ecosystem, origin).includes(id);
    case 'dnf':
      return !vendorsOf(ecosystem, origin).includes(DISTRIBUTION);
    case 'npm':
    case 'pypi':
    case 'tidegate':
      return false;
  }
}

/** Whether the package manager says where a package comes from: dnf does not know it of local files. */
export function isKnownOrigin(origin: string | null | undefined): origin is string {
  return origin != null && origin.trim() !== '' && !origin.startsWith('@');
}

/**
 * Who publishes a package, in lower case; several where apt found it in several archives. Releases and suites of one
 * vendor are one: `Debian:12.5/stable` and `Debian-Security:12/stable-security` are both `debian`.
 */
export function vendorsOf(ecosystem: Ecosystem, origin: string): string[] {
  switch (ecosystem) {
    case 'apt':
      return [...new Set(origin.split(', ').map(archiveVendor))];
    case 'dnf':
      return [repositoryVendor(origin)];
    case 'npm':
    case 'pypi':
    case 'tidegate':
      return [origin];
  }
}

function repositoryVendor(id: string): string {
  const known = THIRD_PARTY.exec(id)?.[1];
  if (known?.startsWith('copr')) return id.toLowerCase(); // each project has its own owner
  if (known !== undefined) return known.toLowerCase();
  return DISTINCT_REPOSITORY.test(id) || DISTRIBUTION_REPOSITORY.test(id) ? DISTRIBUTION : id.toLowerCase();
}

/** apt prints the site where an archive has no release file. */
function archiveVendor(archive: string): string {
  if (archive.includes('://')) return siteVendor(URL.parse(archive)?.hostname ?? archive);
  const at = archive.indexOf(':');
  if (at < 0) return siteVendor(archive);
  const label = archive.slice(0, at);
  return (DISTRIBUTION_LABEL.exec(label)?.[1] ?? label).toLowerCase();
}

function siteVendor(site: string): string {
  switch (DISTRIBUTION_SITE.exec(site)?.[1]?.toLowerCase()) {
    case 'debian.org':
      return 'debian';
    case 'ubuntu.com':
      return 'ubuntu';
    default:
      return site.toLowerCase();
  }
}
