/** A package as it is built into a .deb. */
export type AptPackage = {
  name: string;
  version: string;
  /** `all` unless given. */
  arch?: string;
  /** As in the control file: `demo-src`, or `demo-src (1.1-1)` where the versions differ. */
  source?: string;
  depends?: string;
  conflicts?: string;
  /** More fields of the control file, such as `Pre-Depends`. */
  fields?: Readonly<Record<string, string>>;
  /** Configuration files below /etc by name, with their content. */
  conffiles?: Readonly<Record<string, string>>;
  /** The archive that offers it; `security` stands for the distribution's security archive. */
  archive?: 'main' | 'security';
  /** A /bin/sh script that runs, on this very machine, as whoever installs the package. */
  postinst?: string;
  /** Questions of debconf, as in the file of that name. */
  templates?: string;
  /** What it says it takes on the disk, in KiB. */
  installedSizeKib?: number;
  /** Content of its one file; two packages of one version that differ here have different hashes. */
  content?: string;
};

/** What a host has and what its archive has beyond that. */
export type AptSet = {
  installed: readonly AptPackage[];
  offered: readonly AptPackage[];
  /** Names of installed packages that are on hold. */
  held?: readonly string[];
};

/** An update that needs a security update of its dependency; both from one source, whose version differs once. */
export const DEMO: AptSet = {
  installed: [
    { name: 'libdemo', version: '1.0-1', source: 'demo-src' },
    { name: 'demo', version: '1.0-1', source: 'demo-src', depends: 'libdemo (>= 1.0)' },
  ],
  offered: [
    { name: 'libdemo', version: '1.0-1+deb12u1', source: 'demo-src', archive: 'security' },
    { name: 'demo', version: '1.1-1', source: 'demo-src (1.1-2)', depends: 'libdemo (>= 1.0-1+deb12u1)' },
  ],
};

/** An update that is there but held back by the operator of the host. */
export const HELD: AptSet = {
  installed: [{ name: 'pinned', version: '2.0-1' }],
  offered: [{ name: 'pinned', version: '2.1-1' }],
  held: ['pinned'],
};

/** An update whose new version needs a package that the host does not have. */
export const NEW_DEPENDENCY: AptSet = {
  installed: [{ name: 'growing', version: '1.0-1' }],
  offered: [
    { name: 'growing', version: '2.0-1', depends: 'libgrowing (>= 2.0)' },
    { name: 'libgrowing', version: '2.0-1', source: 'growing' },
  ],
};

/** An update that drives another installed package out. */
export const REMOVAL: AptSet = {
  installed: [
    { name: 'ousted', version: '1.0-1' },
    { name: 'ousting', version: '1:1.0-1' },
  ],
  offered: [{ name: 'ousting', version: '1:2.0-1', conflicts: 'ousted' }],
};

/** An update whose maintainer script fails, so that the package is left half-configured. */
export const FAILING: AptSet = {
  installed: [{ name: 'fragile', version: '1.0-1' }],
  offered: [{ name: 'fragile', version: '1.1-1', postinst: 'echo "fragile cannot be set up" >&2; exit 1' }],
};

/** The control file of a package. */
export function controlOf(pkg: AptPackage): string {
  const fields: [string, string | undefined][] = [
    ['Package', pkg.name],
    ['Version', pkg.version],
    ['Architecture', pkg.arch ?? 'all'],
    ['Maintainer', 'Test <test@example.invalid>'],
    ['Source', pkg.source],
    ['Depends', pkg.depends],
    ['Conflicts', pkg.conflicts],
    ['Installed-Size', pkg.installedSizeKib === undefined ? undefined : String(pkg.installedSizeKib)],
    ...Object.entries(pkg.fields ?? {}),
    ['Description', `package ${pkg.name} of a test`],
  ];
  return fields.flatMap(([field, value]) => (value === undefined ? [] : [`${field}: ${value}\n`])).join('');
}

/** The file name in the pool: without the epoch, as Debian names them. */
export function debFileName({ name, version, arch }: Pick<AptPackage, 'name' | 'version' | 'arch'>): string {
  return `${name}_${version.replace(/^\d+:/, '')}_${arch ?? 'all'}.deb`;
}
