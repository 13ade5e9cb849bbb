import type { Ecosystem } from '@tidegate/protocol/scalars';

/** Package managers (on the wire: ecosystems) as people call them, in the order of forms and filters. */
export const MANAGERS: Readonly<Record<Ecosystem, string>> = {
  apt: 'apt',
  dnf: 'dnf',
  npm: 'npm',
  pypi: 'PyPI',
  tidegate: 'Tidegate agent',
};
export const MANAGER_KEYS = ['apt', 'dnf', 'npm', 'pypi', 'tidegate'] as const satisfies readonly Ecosystem[];
