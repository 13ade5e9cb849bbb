import { Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library';
import type { Base } from './base-packages.ts';
import type { LockedPackage } from './locked-packages.ts';
import type { TreeFile } from './tree.ts';

export interface Contents {
  name: string;
  version: string;
  target: string;
  /** The npm packages inside. */
  packages: readonly LockedPackage[];
  /** What runs the program, with the libraries that are compiled into it, by name. */
  runtime?: { package: LockedPackage; libraries: Readonly<Record<string, string>> };
  files: readonly TreeFile[];
  /** The packages of Debian inside, in an image. */
  base?: Base;
  /** Time of the release, in seconds since 1970. */
  epochSeconds: number;
}

/** Returns the CycloneDX 1.6 document, as JSON, of one product for one target: the same text for the same contents. */
export function sbomOf(contents: Contents): string {
  const bom = new Models.Bom();
  bom.metadata.timestamp = new Date(contents.epochSeconds * 1_000);
  bom.metadata.component = new Models.Component(typeOf(contents), contents.name, {
    version: contents.version,
    bomRef: contents.name,
    licenses: licencesOf('Apache-2.0'),
  });
  bom.metadata.properties.add(new Models.Property('tidegate:target', contents.target));
  // A package may be inside twice, in folders of two others.
  const packages = new Map(contents.packages.map((found) => [purlOf(found), found]));
  for (const found of packages.values()) {
    bom.components.add(ofPackage(Enums.ComponentType.Library, found));
  }
  if (contents.runtime !== undefined) bom.components.add(ofRuntime(contents.runtime));
  for (const found of contents.base === undefined ? [] : ofBase(contents.base)) bom.components.add(found);
  for (const { path, sha256 } of contents.files) {
    bom.components.add(
      new Models.Component(Enums.ComponentType.File, `/${path}`, {
        bomRef: `file:/${path}`,
        hashes: new Models.HashDictionary([[Enums.HashAlgorithm['SHA-256'], sha256]]),
      }),
    );
  }
  const factory = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  return `${new Serialize.JsonSerializer(factory).serialize(bom, { sortLists: true, space: 2 })}\n`;
}

function typeOf({ base }: Contents): Enums.ComponentType {
  return base === undefined ? Enums.ComponentType.Application : Enums.ComponentType.Container;
}

/** Debian's packages, and the release that they are of, by which scanners choose advisories. */
function ofBase({ release, arch, packages }: Base): Models.Component[] {
  const system = new Models.Component(Enums.ComponentType.OperatingSystem, 'debian', {
    version: release,
    bomRef: 'debian',
  });
  const libraries = packages.map(({ name, version, sha256, source }) => {
    const about = new URLSearchParams({ arch, distro: `debian-${release}`, upstream: source });
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?${about}`;
    return new Models.Component(Enums.ComponentType.Library, name, {
      version,
      bomRef: purl,
      purl,
      hashes: new Models.HashDictionary([[Enums.HashAlgorithm['SHA-256'], sha256]]),
    });
  });
  return [system, ...libraries];
}

function ofPackage(type: Enums.ComponentType, found: LockedPackage): Models.Component {
  const { name, version, integrity, license } = found;
  const sha512 = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
  const purl = purlOf(found);
  return new Models.Component(type, name, {
    version,
    bomRef: purl,
    purl,
    hashes: new Models.HashDictionary([[Enums.HashAlgorithm['SHA-512'], sha512]]),
    licenses: licencesOf(license),
  });
}

function purlOf({ name, version }: LockedPackage): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function ofRuntime({ package: found, libraries }: NonNullable<Contents['runtime']>): Models.Component {
  const runtime = ofPackage(Enums.ComponentType.Platform, found);
  for (const [name, version] of Object.entries(libraries)) {
    const bomRef = `${found.name}/${name}`;
    runtime.components.add(new Models.Component(Enums.ComponentType.Library, name, { version, bomRef }));
  }
  return runtime;
}

function licencesOf(license: string | null): Models.LicenseRepository {
  if (license === null) return new Models.LicenseRepository();
  return new Models.LicenseRepository([new Models.LicenseExpression(license)]);
}
