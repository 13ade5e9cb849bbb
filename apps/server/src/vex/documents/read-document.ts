import type { VexScope, VexStatementRequest } from '@tidegate/protocol/vex-api';
import type { Fault } from '../request-rules.ts';
import { type PackageAt, parsePackageUrl } from './package-url.ts';

/** What a document says, as statements of ours. */
export type ReadDocument =
  | {
      readonly kind: 'read';
      readonly author: string;
      readonly statements: readonly ReadStatement[];
      readonly skipped: readonly { readonly vulnerability: string; readonly reason: string }[];
    }
  | { readonly kind: 'refused'; readonly fault: Fault };

export interface ReadStatement {
  readonly request: VexStatementRequest;
  /** Where the document says it, as a JSON pointer into the request. */
  readonly at: string;
}

/** What an importer adds to statements that have neither scope nor end. */
export interface Defaults {
  readonly scope: VexScope;
  readonly ends_at: string;
}

/** Packages with their versions, in the order of the URLs; a fault where one cannot be read. */
export function packagesOf(
  urls: readonly { readonly url: string; readonly path: string }[],
): { readonly packages: readonly (Omit<PackageAt, 'version'> & { versions: string[] })[] } | Fault {
  const found = new Map<string, Omit<PackageAt, 'version'> & { versions: string[] }>();
  for (const { url, path } of urls) {
    const one = parsePackageUrl(url);
    if (!one) {
      const message =
        'must be a package URL with one version: pkg:npm, pkg:pypi, pkg:deb/DISTRIBUTION or pkg:rpm/DISTRIBUTION';
      return { path, message };
    }
    const { version, ...named } = one;
    const key = JSON.stringify(named);
    const known = found.get(key) ?? { ...named, versions: [] };
    if (!known.versions.includes(version)) known.versions.push(version);
    found.set(key, known);
  }
  return { packages: [...found.values()] };
}
