import type { AgentPackage } from '@tidegate/protocol/agent-packages-api';

export const SUMS = 'SHA256SUMS';
export const SUMS_SIGNATURE = 'SHA256SUMS.sig';
export const SUMS_MAX_BYTES = 512 * 1024;
export const SUMS_MAX_LINES = 2_000;
const PATH_MAX_SEGMENTS = 8;
const LINE =
  /^([0-9a-f]{64}) {2}([A-Za-z0-9][A-Za-z0-9._+~-]{0,127}(?:\/[A-Za-z0-9][A-Za-z0-9._+~-]{0,127})*)$/;
const PACKAGE =
  /^tidegate-agent_(\d+\.\d+\.\d+(?:[-+~][0-9A-Za-z.+~-]+)?)_(linux-x64|linux-arm64)\.(deb|rpm|tar\.gz)$/;

/** SHA-256 by path: of what the folder offers, and of nothing else. */
export type Sums = ReadonlyMap<string, string>;

export type ParsedSums = { ok: true; sums: Sums } | { ok: false; fault: string };

/** Reads lines of `sha256sum`. No segment of a path begins with a dot, so that none leads out of the folder. */
export function parseSums(text: string): ParsedSums {
  const lines = text.split('\n');
  if (lines.pop() !== '' || lines.length === 0 || lines.length > SUMS_MAX_LINES) {
    return { ok: false, fault: `${SUMS} is not valid; allowed: 1 to ${SUMS_MAX_LINES} whole lines` };
  }
  const sums = new Map<string, string>();
  for (const [index, line] of lines.entries()) {
    const [, sha256, path] = LINE.exec(line) ?? [];
    const isOwn = path === SUMS || path === SUMS_SIGNATURE;
    const isDeep = (path?.split('/').length ?? 0) > PATH_MAX_SEGMENTS;
    if (sha256 === undefined || path === undefined || isOwn || isDeep || sums.has(path)) {
      const allowed = `64 hex digits, two spaces and the relative path of another file, each once, at most ${PATH_MAX_SEGMENTS} folders deep, no name with a leading dot`;
      return { ok: false, fault: `${SUMS} is not valid in line ${index + 1}; allowed: ${allowed}` };
    }
    sums.set(path, sha256);
  }
  return { ok: true, sums };
}

export type NamedPackage = Omit<AgentPackage, 'bytes'> & { readonly version: string };

/** The packages that these names say are there. */
export function packagesOf(sums: Sums): NamedPackage[] {
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
