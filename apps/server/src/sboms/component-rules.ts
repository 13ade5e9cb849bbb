import type { Ecosystem } from '@tidegate/protocol/scalars';
import { canonicalName } from '@tidegate/versions/names';
import type { PackageVersionOf } from '../advisories/subjects.ts';
import { packageUrl } from '../vex/documents/package-url.ts';
import type { HostRow, Target } from './facts-store.ts';

/** An installed package. */
export type PackageRow = PackageVersionOf & { readonly arch: string };

/** A component of CycloneDX 1.6, the members that are used here. */
export interface Component {
  readonly type: 'library' | 'operating-system' | 'device' | 'platform';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
}

/** Its URL has what scanners choose advisories by: release, architecture and source. */
export function packageComponent(host: HostRow, ecosystem: Ecosystem, row: PackageRow): Component {
  const isOfSystem = ecosystem === 'apt' || ecosystem === 'dnf';
  const { version, arch, sourceName, sourceVersion } = row;
  const isSourceNamed = sourceName && (sourceName !== row.name || sourceVersion !== version);
  const purl = packageUrl(
    {
      ...{ ecosystem, version, name: canonicalName(ecosystem, row.name) },
      distribution: isOfSystem ? host.os_id : null,
    },
    isOfSystem
      ? {
          ...(arch !== '' && { arch }),
          distro: [host.os_id, host.os_version_id].filter(Boolean).join('-'),
          ...(isSourceNamed && { upstream: [sourceName, sourceVersion].filter(Boolean).join('@') }),
        }
      : {},
  );
  return { type: 'library', 'bom-ref': purl, name: row.name, version, purl };
}

export function systemComponent({ os_id: id, os_version_id: version }: HostRow): Component {
  return {
    ...{ type: 'operating-system', 'bom-ref': `os:${id}:${version}`, name: id },
    ...(version !== '' && { version }),
  };
}

export function hostComponent({ id, hostname }: HostRow): Component {
  return { type: 'device', 'bom-ref': `host:${id}`, name: hostname };
}

/** What the document is about. */
export function targetComponent(target: Target, hosts: readonly HostRow[]): Component {
  const [host] = hosts;
  if (target.kind === 'host' && host) return hostComponent(host);
  const name = target.kind === 'group' ? target.group : target.agentId;
  return { type: 'platform', 'bom-ref': `group:${name}`, name };
}
