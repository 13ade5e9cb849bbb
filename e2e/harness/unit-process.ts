import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTool, SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { type Child, startChild } from './child.ts';

/** Where systemd keeps the state of services; a unit names a folder in it. */
const STATE = '/var/lib';

/** Lines of a shell that mount what the kernel gives every host. */
const KERNEL_FILES = [
  'mount -t proc proc "$TREE/proc"',
  'mount -t tmpfs tmpfs "$TREE/dev"',
  'for device in null zero full random urandom; do',
  '  : > "$TREE/dev/$device"; mount --bind "/dev/$device" "$TREE/dev/$device"',
  'done',
];

export interface UnitOptions {
  /** The root of the host's files. */
  tree: string;
  /** Such as `tidegate.service`; it must be installed in the tree. */
  unit: string;
  env?: Record<string, string>;
  /** Added to what ExecStart says. */
  args?: readonly string[];
}

/**
 * Starts what the ExecStart of an installed unit says, in the tree, with those of the unit's restrictions that namespaces
 * and capabilities can make: user, read-only files except for its state, private /tmp and /dev, no network, no new
 * privileges, capabilities, umask. Not the system calls, which only systemd filters. Needs root that may mount.
 */
export function startUnit({ tree, unit, env = {}, args = [] }: UnitOptions): Child {
  const settings = readUnit(join(tree, 'usr/lib/systemd/system', unit));
  const one = (name: string) => settings.get(name)?.at(-1) ?? null;
  const command = [...(one('ExecStart') ?? '').split(' '), ...args];
  const writable = [
    ...(settings.get('StateDirectory') ?? []).map((name) => `${STATE}/${name}`),
    ...(settings.get('ReadWritePaths') ?? []).flatMap((paths) => paths.split(' ')),
  ];
  const isStrict = one('ProtectSystem') === 'strict';
  const script = [
    'set -eu',
    `umask ${one('UMask') ?? '0022'}`,
    'mount --bind "$TREE" "$TREE"',
    ...(isStrict ? writable.map((path) => `mount --bind "$TREE${path}" "$TREE${path}"`) : []),
    ...(isStrict ? ['mount -o remount,bind,ro "$TREE"'] : []),
    ...(one('PrivateTmp') === 'yes' ? ['mount -t tmpfs tmpfs "$TREE/tmp"'] : []),
    ...KERNEL_FILES,
    `exec chroot "$TREE" setpriv ${privileges(one).join(' ')} "$@"`,
  ];
  const network = one('PrivateNetwork') === 'yes' ? ['--net'] : [];
  return startChild('unshare', ['--mount', ...network, 'sh', '-c', script.join('\n'), 'unit', ...command], {
    env: { PATH: SYSTEM_PATH, LC_ALL: 'C.UTF-8', TREE: tree, ...env },
  });
}

/** Runs a command in a tree to its end as root, as an administrator of the host would, and returns what it printed. */
export function runInTree(
  tree: string,
  command: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const script = ['set -eu', ...KERNEL_FILES, 'exec chroot "$TREE" "$@"'].join('\n');
  // With processes of its own, whose first one is not that of a container in which the test runs.
  return runTool(
    'unshare',
    ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'tree', ...command],
    {
      env: { TREE: tree, ...env },
    },
  );
}

/** The words of setpriv for a unit. */
function privileges(one: (name: string) => string | null): string[] {
  const user = one('User');
  const kept = one('CapabilityBoundingSet');
  const bounding = kept?.split(' ').filter((name) => name !== '') ?? null;
  const named = (names: readonly string[]) =>
    ['-all', ...names.map((name) => `+${name.replace('CAP_', '').toLowerCase()}`)].join(',');
  const ambient =
    one('AmbientCapabilities')
      ?.split(' ')
      .filter((name) => name !== '') ?? [];
  return [
    ...(user === null ? [] : [`--reuid=${user}`, `--regid=${user}`, '--init-groups']),
    ...(bounding === null ? [] : [`--bounding-set=${named(bounding)}`]),
    ...(user === null ? [] : [`--inh-caps=${named(ambient)}`, `--ambient-caps=${named(ambient)}`]),
    ...(one('NoNewPrivileges') === 'yes' ? ['--no-new-privs'] : []),
    '--',
  ];
}

/** The settings of a unit's file, by name; a name may be given more than once. */
function readUnit(path: string): Map<string, string[]> {
  const settings = new Map<string, string[]>();
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    settings.set(name, [...(settings.get(name) ?? []), value]);
  }
  return settings;
}
