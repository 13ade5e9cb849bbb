import type { Ecosystem } from '@tidegate/protocol/scalars';

/** A version of a package, as a package URL names it. */
export interface PackageAt {
  readonly ecosystem: Ecosystem;
  readonly distribution: string | null;
  readonly name: string;
  readonly version: string;
}

const TYPES = { npm: 'npm', pypi: 'pypi', apt: 'deb', dnf: 'rpm', tidegate: 'generic' } as const;
const ECOSYSTEMS: ReadonlyMap<string, Ecosystem> = new Map([
  ['npm', 'npm'],
  ['pypi', 'pypi'],
  ['deb', 'apt'],
  ['rpm', 'dnf'],
  ['generic', 'tidegate'],
]);
/** Namespaces that differ from the `ID` of os-release. */
const NAMESPACES: ReadonlyMap<string, string> = new Map([['rhel', 'redhat']]);
const DISTRIBUTIONS = new Map([...NAMESPACES].map(([id, namespace]) => [namespace, id]));

/** A package URL (purl-spec): the epoch of an rpm is a qualifier, and more of them narrow what is meant. */
export function packageUrl(
  { ecosystem, distribution, name, version }: PackageAt,
  more: Readonly<Record<string, string>> = {},
): string {
  const [, epoch, rest = version] = (ecosystem === 'dnf' && /^(\d+):(.*)$/.exec(version)) || [];
  const namespace = distribution === null ? [] : [NAMESPACES.get(distribution) ?? distribution];
  const path = [...namespace, ...name.split('/')].map(encodeURIComponent).join('/');
  const qualifiers = Object.entries({ ...more, ...(epoch !== undefined && { epoch }) })
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  const query = qualifiers.length === 0 ? '' : `?${qualifiers.join('&')}`;
  return `pkg:${TYPES[ecosystem]}/${path}@${encodeURIComponent(rest)}${query}`;
}

/**
 * Null unless it names one version of an npm, PyPI, deb or rpm package, or of the agent. Of the qualifiers only an rpm's epoch has a
 * meaning here; `arch` and `distro` would narrow the statement, so a URL with another qualifier is refused.
 */
export function parsePackageUrl(url: string): PackageAt | null {
  const [, type = '', path = '', rawVersion = '', query = ''] =
    /^pkg:([a-z]+)\/([^@?#]+)@([^@?#/]+)(?:\?([^#]*))?$/.exec(url) ?? [];
  const ecosystem = ECOSYSTEMS.get(type);
  const parts = path.split('/').map(decoded);
  const version = decoded(rawVersion);
  if (!ecosystem || !version || parts.some((part) => !part)) return null;
  const [first = null, ...others] = parts;
  const name = others.join('/');
  const epoch = /^epoch=(\d{1,9})$/.exec(query)?.[1];
  if (query !== '' && (ecosystem !== 'dnf' || epoch === undefined)) return null;
  switch (ecosystem) {
    case 'npm':
      if (parts.length > 2 || (parts.length === 2 && !first?.startsWith('@'))) return null;
      return { ecosystem, distribution: null, name: parts.join('/'), version };
    case 'tidegate':
      return path === 'tidegate-agent' ? { ecosystem, distribution: null, name: path, version } : null;
    case 'pypi':
      return parts.length === 1 && first ? { ecosystem, distribution: null, name: first, version } : null;
    case 'apt':
    case 'dnf': {
      if (parts.length !== 2 || first === null) return null;
      const distribution = DISTRIBUTIONS.get(first) ?? first;
      return {
        ecosystem,
        distribution,
        name,
        version: epoch === undefined ? version : `${epoch}:${version}`,
      };
    }
  }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}
