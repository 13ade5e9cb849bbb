import type { AgentPackage } from '@tidegate/protocol/agent-packages-api';
import type { ReleaseFiles } from '@tidegate/signing/release';

const PACKAGE =
  /^tidegate-agent_(\d+\.\d+\.\d+(?:[-+~][0-9A-Za-z.+~-]+)?)_(linux-x64|linux-arm64)\.(deb|rpm|tar\.gz)$/;

export type NamedPackage = Omit<AgentPackage, 'bytes'> & { readonly version: string };

/** The packages that these names say are there. */
export function packagesOf(sums: ReleaseFiles): NamedPackage[] {
  return [...sums].flatMap(([path, sha256]) => {
    const [, version, target, format] = PACKAGE.exec(path) ?? [];
    if (version === undefined || !isTarget(target) || !isFormat(format)) return [];
    return [{ path, version, target, format, sha256 }];
  });
}

/** Whether the name of a file holds its version: the bytes under this name never change. */
export function isVersioned(path: string): boolean {
  return PACKAGE.test(path);
}

function isTarget(text: string | undefined): text is AgentPackage['target'] {
  return text === 'linux-x64' || text === 'linux-arm64';
}

function isFormat(text: string | undefined): text is AgentPackage['format'] {
  return text === 'deb' || text === 'rpm' || text === 'tar.gz';
}
