import type { Ecosystem } from '@tidegate/protocol/scalars';
import { aptInstaller } from './apt.ts';
import { dnfInstaller } from './dnf.ts';
import type { Installer } from './installer.ts';
import { npmInstaller } from './npm.ts';
import { pypiInstaller } from './pypi.ts';

/** What can be installed on a host. Adding an ecosystem changes this file and no other. */
const INSTALLERS: Partial<Record<Ecosystem, Installer>> = {
  apt: aptInstaller,
  dnf: dnfInstaller,
  npm: npmInstaller,
  pypi: pypiInstaller,
};

export function installerOf(ecosystem: Ecosystem): Installer | null {
  return INSTALLERS[ecosystem] ?? null;
}
