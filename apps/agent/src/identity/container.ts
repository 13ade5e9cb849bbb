import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMachineIdMounted, parseMounts } from './hardware-id-rules.ts';

/** Files that exist only in containers: Docker, Podman, Kubernetes. */
const SIGNS = [
  '/.dockerenv',
  '/run/.containerenv',
  '/run/secrets/kubernetes.io',
  '/var/run/secrets/kubernetes.io',
];
/** Where a container manager or systemd leaves the manager's name (systemd-detect-virt looks there too). */
const NAMES = ['/run/host/container-manager', '/run/systemd/container'];

/** Returns the evidence that this is a container, or null. `root` is `/` except in tests. */
export function findContainer(root: string): string | null {
  const sign = SIGNS.find((path) => existsSync(join(root, path)));
  if (sign !== undefined) return sign;
  for (const path of NAMES) {
    const name = readIfPossible(join(root, path)).trim();
    if (name !== '') return `${path} says ${name.slice(0, 64)}`;
  }
  // On most systems only root may read it; without it the other signs decide.
  const told = readIfPossible(join(root, '/proc/1/environ'))
    .split('\0')
    .find((variable) => /^container=./.test(variable));
  if (told !== undefined) return `the first process has ${told.slice(0, 64)}`;
  const group = /\b(docker|lxc|libpod|kubepods|containerd)\b/.exec(
    readIfPossible(join(root, '/proc/1/cgroup')),
  );
  return group === null ? null : `the first process is in a control group of ${group[1]}`;
}

/** Whether /etc/machine-id was put into this container and so is not that of its image. */
export function hasMountedMachineId(root: string): boolean {
  return isMachineIdMounted(parseMounts(readIfPossible(join(root, '/proc/self/mountinfo'))));
}

function readIfPossible(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // a hint that cannot be read says nothing
  }
}
