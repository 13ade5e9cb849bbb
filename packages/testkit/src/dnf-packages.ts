/** A package as it is built into an rpm, of a source package of its own or of one that it names. */
export type DnfPackage = {
  name: string;
  version: string;
  release: string;
  /** Absent is none, which rpm orders as 0. */
  epoch?: number;
  /** `noarch` unless given. */
  arch?: string;
  /** Name of the source package; the package's own unless given. The source has no epoch: a subpackage may. */
  source?: string;
  requires?: readonly string[];
  conflicts?: readonly string[];
  /** Configuration files below /etc by name, with their content. */
  config?: Readonly<Record<string, string>>;
  obsoletes?: readonly string[];
  provides?: readonly string[];
  /** Statements of rpm's own Lua that run when the package is installed, inside the host's root. */
  pre?: string;
  post?: string;
  /** Content of its one file; two packages of one version that differ here have different hashes. */
  content?: string;
  /** Size of a second file of zeros, in MiB. */
  bulkMib?: number;
  repository?: DnfRepositoryId;
  /** Names a security advisory of the repository that brings this package. */
  advisory?: string;
};

/** Ids of the two repositories of a host. */
export const DNF_REPOSITORIES = ['baseos', 'appstream'] as const;
export type DnfRepositoryId = (typeof DNF_REPOSITORIES)[number];

/** What a host has and what its repositories have beyond that. */
export type DnfSet = { installed: readonly DnfPackage[]; offered: readonly DnfPackage[] };

/** `epoch:version-release`, always with the epoch. */
export function evrOf({ epoch = 0, version, release }: DnfPackage): string {
  return `${epoch}:${version}-${release}`;
}

/** The file that rpm makes of it; the epoch is not in the name. */
export function rpmFileName({ name, version, release, arch = 'noarch' }: DnfPackage): string {
  return `${name}-${version}-${release}.${arch}.rpm`;
}

/** An update that needs a security update of its dependency; both of one source, and one has an epoch of its own. */
export const DNF_DEMO: DnfSet = {
  installed: [
    { name: 'libdemo', version: '1.0', release: '1.el9', source: 'demo-src' },
    {
      name: 'demo',
      epoch: 1,
      version: '1.0',
      release: '1.el9',
      source: 'demo-src',
      requires: ['libdemo >= 1.0'],
    },
  ],
  offered: [
    {
      ...{ name: 'libdemo', version: '1.0', release: '2.el9', source: 'demo-src', repository: 'appstream' },
      ...{ advisory: 'ALSA-9999:0001', post: trace('libdemo 1.0-2.el9') },
    },
    {
      ...{ name: 'demo', epoch: 1, version: '1.1', release: '1.el9', source: 'demo-src' },
      ...{ requires: ['libdemo >= 1.0-2.el9'], post: trace('demo 1.1-1.el9') },
    },
  ],
};

/** An update whose new version needs a package that the host does not have. */
export const DNF_NEW_DEPENDENCY: DnfSet = {
  installed: [{ name: 'growing', version: '1.0', release: '1' }],
  offered: [
    { name: 'growing', version: '2.0', release: '1', requires: ['libgrowing'] },
    { name: 'libgrowing', version: '2.0', release: '1', source: 'growing' },
  ],
};

/** An update that cannot stand beside an installed package. */
export const DNF_REMOVAL: DnfSet = {
  installed: [
    { name: 'ousting', version: '1.0', release: '1' },
    { name: 'ousted', version: '1.0', release: '1' },
  ],
  offered: [{ name: 'ousting', version: '2.0', release: '1', conflicts: ['ousted'] }],
};

/** An update that takes the place of another package. */
export const DNF_OBSOLETING: DnfSet = {
  installed: [
    { name: 'heir', version: '1.0', release: '1' },
    { name: 'elder', version: '1.0', release: '1' },
  ],
  offered: [{ name: 'heir', version: '2.0', release: '1', obsoletes: ['elder < 2'] }],
};

/** An update that is there but locked or excluded by the operator of the host. */
export const DNF_HELD: DnfSet = {
  installed: [{ name: 'pinned', version: '2.0', release: '1' }],
  offered: [{ name: 'pinned', version: '2.1', release: '1' }],
};

/** An update whose needs nobody offers. */
export const DNF_STUCK: DnfSet = {
  installed: [{ name: 'stuck', version: '1.0', release: '1' }],
  offered: [{ name: 'stuck', version: '2.0', release: '1', requires: ['never-published'] }],
};

/** An update whose scriptlet fails before anything of it is there. */
export const DNF_FAILING: DnfSet = {
  installed: [{ name: 'fragile', version: '1.0', release: '1' }],
  offered: [{ name: 'fragile', version: '1.1', release: '1', pre: 'error("fragile cannot be set up")' }],
};

const parallel: DnfPackage = {
  name: 'parallel',
  version: '1.0',
  release: '1',
  provides: ['installonlypkg(kernel)'],
};

/** Of which several versions stand side by side, as kernels do. */
export const DNF_SIDE_BY_SIDE: DnfSet = {
  installed: [1, 2, 3].map((version) => ({ ...parallel, version: `${version}.0` })),
  offered: [{ ...parallel, version: '4.0' }],
};

/** Leaves a line in `<root>/trace` each time that the package is installed. */
export function trace(line: string): string {
  return `local f = io.open("/trace", "a"); f:write("${line}\\n"); f:close()`;
}
