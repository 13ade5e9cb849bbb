import { readFileSync } from 'node:fs';
import { arch, hostname, platform, release } from 'node:os';
import { join } from 'node:path';
import type { RegisterRequest } from '@tidegate/protocol/agent-api';
import type { HostPlaces } from '../ecosystems/host-places.ts';
import { AGENT_VERSION } from '../platform/version.ts';

/** The facts a host registers with. For an install root they describe the system in it. */
export function describeHost({ dnf_root: root }: Pick<HostPlaces, 'dnf_root'> = {}): RegisterRequest {
  const own = root === undefined ? null : readOsRelease(root);
  const osRelease = own ?? readOsRelease('/') ?? new Map<string, string>();
  return {
    hostname: hostname().slice(0, 253) || 'unknown',
    os: {
      family: platform(),
      id: (osRelease.get('ID') ?? platform()).slice(0, 256),
      version_id: (osRelease.get('VERSION_ID') ?? release()).slice(0, 256),
      arch: arch(),
    },
    agent_version: AGENT_VERSION,
  };
}

/** os-release(5): `NAME=value`, quoted or not; the file in /usr/lib is the one that packages bring. */
export function parseOsRelease(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, name, , , bare] = /^([A-Z0-9_]+)=((["'])?(.*?)\3?)\s*$/.exec(line) ?? [];
    if (name !== undefined && bare !== undefined && bare !== '') fields.set(name, bare);
  }
  return fields;
}

function readOsRelease(root: string): Map<string, string> | null {
  if (process.platform !== 'linux') return null;
  for (const path of ['etc/os-release', 'usr/lib/os-release']) {
    try {
      return parseOsRelease(readFileSync(join(root, path), 'utf8'));
    } catch {
      // The next place, or none: a host without the file still has a name and a kernel.
    }
  }
  return null;
}
