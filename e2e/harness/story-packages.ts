import type { AptPackage, AptSet } from '@tidegate/testkit/apt-packages';

/** The file below a host's root that maintainer scripts write to: `name version devices`, one line per run. */
export const TRACE = 'trace';

/** Adds a maintainer script that writes one line per run, with the network devices that it sees. */
export function tracing(pkg: AptPackage): AptPackage {
  const devices = `$(sed 1,2d /proc/self/net/dev | cut -d: -f1 | tr -d ' ' | paste -sd,)`;
  return { ...pkg, postinst: `echo "${pkg.name} ${pkg.version} ${devices}" >> "$DPKG_ROOT/${TRACE}"` };
}

/** An update that needs a security update of its dependency; both have the source package `demo-src`. */
export const STORY: AptSet = {
  installed: [
    { name: 'libdemo', version: '1.0-1', source: 'demo-src' },
    { name: 'demo', version: '1.0-1', source: 'demo-src', depends: 'libdemo (>= 1.0)' },
  ],
  offered: [
    tracing({ name: 'libdemo', version: '1.0-1+deb12u1', source: 'demo-src', archive: 'security' }),
    tracing({
      name: 'demo',
      version: '1.1-1',
      source: 'demo-src (1.1-2)',
      depends: 'libdemo (>= 1.0-1+deb12u1)',
    }),
  ],
};

export const OLD = { demo: '1.0-1', libdemo: '1.0-1' };
export const NEW = { demo: '1.1-1', libdemo: '1.0-1+deb12u1' };

/** The fake advisory on the dependency: its source package, at the version that the update installs. */
export const ADVISORY = 'DSA-9999-1';
export const AFFECTED = ['Debian', 'Ubuntu'].map((ecosystem) => ({
  ecosystem,
  name: 'demo-src',
  versions: ['1.0-1+deb12u1'],
}));
