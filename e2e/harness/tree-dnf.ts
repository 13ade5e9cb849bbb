import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from '@tidegate/testkit/run-tool';
import type { DebianTree } from '../../scripts/debian-tree.ts';

/** What the rpm of the agent requires of its distribution; with its name in rpm's database, this is a dnf host. */
const BASE = `Name: rpm
Version: 1
Release: 1
Summary: Stands in for the packages of a distribution
License: none
BuildArch: noarch
Provides: glibc = 2.34, shadow-utils = 4.9
%description
Nothing is in it.
%files
`;

/**
 * Gives a Debian tree a real dnf with an empty rpm database, and a repository for what the agent requires. `folder` is for
 * building it.
 */
export async function addDnf({ root, env }: DebianTree, folder: string): Promise<void> {
  await runTool('apt-get', ['-y', '--no-install-recommends', 'install', 'dnf', 'rpm'], { env });
  const spec = join(folder, 'base.spec');
  const top = join(folder, 'rpmbuild');
  writeFileSync(spec, BASE);
  await runTool('rpmbuild', ['-bb', '--quiet', '--define', `_topdir ${top}`, spec]);
  const repository = join(root, 'srv/base');
  mkdirSync(repository, { recursive: true });
  cpSync(join(top, 'RPMS/noarch'), repository, { recursive: true });
  await runTool('createrepo_c', ['-q', repository]);
  mkdirSync(join(root, 'etc/yum.repos.d'), { recursive: true });
  // Debian's rpm has a database for each user.
  mkdirSync(join(root, 'etc/rpm'), { recursive: true });
  writeFileSync(join(root, 'etc/rpm/macros'), '%_dbpath /var/lib/rpm\n');
  const settings = ['[base]', 'name=base', 'baseurl=file:///srv/base', 'gpgcheck=0'];
  writeFileSync(join(root, 'etc/yum.repos.d/base.repo'), `${settings.join('\n')}\n`);
}
