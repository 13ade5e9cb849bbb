/** A package as it is published to the registry of a test. */
export type NpmPackage = {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  scripts?: Record<string, string>;
  os?: string[];
  engines?: { node: string };
  deprecated?: string;
  /** Packages whose files are inside the tarball of this one, at their own name or at `at` below it. */
  bundled?: readonly NpmBundled[];
  /** What the registry says instead of what is in the tarball. */
  saysInstead?: Record<string, unknown>;
};

export type NpmBundled = Pick<NpmPackage, 'version' | 'dependencies' | 'scripts'> & {
  name: string;
  /** The folder below the package: `a`, or `a/node_modules/b` for one that lies in another. */
  at?: string;
};

/** What is installed on a host, and what was published since. */
export type NpmSet = {
  /** Global packages. */
  global: readonly NpmPackage[];
  /** Needs of the project, name to range, resolved when only `installed` was there. */
  project: Record<string, string>;
  /** What the registry had when the host was set up. */
  installed: readonly NpmPackage[];
  offered: readonly NpmPackage[];
};

/** A script that leaves its mark in a file, and fails where it cannot. */
export function marking(pkg: NpmPackage, file: string): NpmPackage {
  const script = `echo ${pkg.name} >> ${file}`;
  return { ...pkg, scripts: { preinstall: script, install: script, postinstall: script } };
}

/**
 * A command and an application that share a library: both have an update, and the command's needs a newer library
 * than the application may have. A scoped package, a nested conflict,
 * a package that nobody but a replaced one needs, a deprecated version and a prerelease beside.
 */
export const NPM_DEMO: NpmSet = {
  global: [{ name: 'demo-cli', version: '1.0.0' }],
  project: { '@demo/app-kit': '^1.0.0', 'demo-lib': '^1.0.0', pinned: '1.0.0' },
  installed: [
    { name: 'demo-cli', version: '1.0.0', dependencies: { 'demo-lib': '^1.0.0', leaf: '1.0.0' } },
    {
      name: '@demo/app-kit',
      version: '1.0.0',
      dependencies: { 'demo-lib': '^1.0.0', leaf: '1.0.0', mid: '1.0.0' },
    },
    { name: 'mid', version: '1.0.0', dependencies: { keeper: '^1.0.0' } },
    { name: 'keeper', version: '1.0.0' },
    { name: 'demo-lib', version: '1.0.0', dependencies: { leaf: '^1.0.0' } },
    { name: 'leaf', version: '1.0.0' },
    { name: 'pinned', version: '1.0.0' },
  ],
  offered: [
    { name: 'demo-cli', version: '1.1.0', dependencies: { 'demo-lib': '^1.1.0', leaf: '2.0.0' } },
    { name: 'demo-cli', version: '2.0.0-rc.1' },
    {
      name: '@demo/app-kit',
      version: '1.1.0',
      dependencies: { 'demo-lib': '^1.1.0', leaf: '2.0.0', mid: '1.1.0' },
    },
    { name: '@demo/app-kit', version: '2.0.0' },
    { name: 'mid', version: '1.1.0', dependencies: { keeper: '^1.0.0' } },
    { name: 'keeper', version: '1.0.1', deprecated: 'broken' },
    { name: 'keeper', version: '2.0.0' },
    { name: 'demo-lib', version: '1.1.0', dependencies: { leaf: '^1.0.0' } },
    { name: 'leaf', version: '2.0.0' },
    { name: 'pinned', version: '1.1.0' },
  ],
};

/** What lies on a host of NPM_DEMO, by location: its global packages, and the modules of its project. */
export const OLD_GLOBALS = {
  'node_modules/demo-cli': 'demo-cli 1.0.0',
  'node_modules/demo-cli/node_modules/demo-lib': 'demo-lib 1.0.0',
  'node_modules/demo-cli/node_modules/leaf': 'leaf 1.0.0',
};
export const OLD_MODULES = {
  'node_modules/@demo/app-kit': '@demo/app-kit 1.0.0',
  'node_modules/demo-lib': 'demo-lib 1.0.0',
  'node_modules/leaf': 'leaf 1.0.0',
  'node_modules/keeper': 'keeper 1.0.0',
  'node_modules/mid': 'mid 1.0.0',
  'node_modules/pinned': 'pinned 1.0.0',
};

/** The same once `demo-cli` and `@demo/app-kit` are at 1.1.0. */
export const NEW_GLOBALS = {
  'node_modules/demo-cli': 'demo-cli 1.1.0',
  'node_modules/demo-cli/node_modules/demo-lib': 'demo-lib 1.1.0',
  'node_modules/demo-cli/node_modules/demo-lib/node_modules/leaf': 'leaf 1.0.0',
  'node_modules/demo-cli/node_modules/leaf': 'leaf 2.0.0',
};
export const NEW_MODULES = {
  ...OLD_MODULES,
  'node_modules/@demo/app-kit': '@demo/app-kit 1.1.0',
  'node_modules/@demo/app-kit/node_modules/leaf': 'leaf 2.0.0',
  'node_modules/demo-lib': 'demo-lib 1.1.0',
  'node_modules/mid': 'mid 1.1.0',
};
