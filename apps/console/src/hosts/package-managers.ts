import type { Ecosystem } from '@tidegate/protocol/scalars';

/** Ecosystems as people call them. */
export const MANAGERS: Readonly<Record<Ecosystem, string>> = {
  apt: 'apt',
  dnf: 'dnf',
  npm: 'npm',
  pypi: 'PyPI',
  tidegate: 'Tidegate agent',
};
