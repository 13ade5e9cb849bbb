import { cpSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DnfHost } from '@tidegate/testkit/dnf-host';
import type { DnfSet } from '@tidegate/testkit/dnf-packages';
import { configureRepository } from '../../apps/agent/src/enrolment/agent-repository.ts';

/** Where the package of the agent has the release key. */
export const KEY = '/usr/share/keyrings/tidegate-agent.asc';

/** What the package of the agent needs of a host. */
export const NEEDED: DnfSet = {
  installed: [{ name: 'system', version: '1', release: '1', provides: ['glibc = 2.34', 'shadow-utils'] }],
  offered: [],
};

/** Has dnf take the agent from a server, as `enrol` does; throws with what it says. */
export async function nameRepository(
  { root }: DnfHost,
  { serverUrl, publicAsc }: { serverUrl: string; publicAsc: string },
): Promise<void> {
  addShell(root);
  mkdirSync(join(root, 'usr/share/keyrings'), { recursive: true });
  writeFileSync(join(root, KEY), publicAsc);
  const rpmOptions = ['--root', root, '--dbpath', '/var/lib/rpm'];
  const named = await configureRepository({ serverUrl, root, caFile: null, serverCa: null, rpmOptions });
  if (!named.ok) throw new Error(named.detail);
  const sources = join(root, named.file);
  // dnf takes the path of a key as one of this machine.
  const text = readFileSync(sources, 'utf8').replace(KEY, join(root, KEY)).replace('expire=1h', 'expire=0');
  writeFileSync(sources, `${text}proxy=_none_\n`);
}

/** What scripts of a package find on a host: a shell, and a user that is there. */
function addShell(root: string): void {
  for (const file of ['/bin/sh', '/lib/x86_64-linux-gnu/libc.so.6', '/lib64/ld-linux-x86-64.so.2'])
    cpSync(realpathSync(file), join(root, file));
  for (const name of ['getent', 'rm']) writeFileSync(join(root, 'bin', name), '#!/bin/sh\n', { mode: 0o755 });
}
