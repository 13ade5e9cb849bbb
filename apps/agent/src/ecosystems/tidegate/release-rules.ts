import type { ReleaseFiles } from '@tidegate/signing/release';
import { compareVersions } from '@tidegate/versions';

/** The one package of this ecosystem. */
export const AGENT_PACKAGE = 'tidegate-agent';
/** Versions name folders and files: three numbers, and perhaps a pre-release. */
const VERSION = String.raw`\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[0-9A-Za-z.-]{1,40})?`;
const IS_VERSION = new RegExp(`^${VERSION}$`);
const ARCHIVE = new RegExp(`^${AGENT_PACKAGE}_(${VERSION})_([a-z0-9-]+)\\.tar\\.gz$`);

const HOUR_MS = 3_600_000;
/** How long a version that failed is not tried again; after a third failure never. */
const RETRY_AFTER_MS = [HOUR_MS, 24 * HOUR_MS];

export function isAgentVersion(text: string): boolean {
  return IS_VERSION.test(text);
}

/** The processor of this program, as releases name it; null where there is no release for it. */
export function targetOf({ platform, arch }: { platform: string; arch: string }): string | null {
  return platform === 'linux' && (arch === 'x64' || arch === 'arm64') ? `linux-${arch}` : null;
}

export function archiveName(version: string, target: string): string {
  return `${AGENT_PACKAGE}_${version}_${target}.tar.gz`;
}

/** The path of the program in the archive of a version. */
export function programInArchive(version: string, target: string): string {
  return `${AGENT_PACKAGE}_${version}_${target}/usr/bin/tidegate-agent`;
}

export interface FailedVersion {
  version: string;
  times: number;
  last_at: string;
}

/** From when a version that failed may be tried again: now, at a time, or never. */
export function retryAt(failures: readonly FailedVersion[], version: string): number | 'never' {
  const failed = failures.find((one) => one.version === version);
  if (failed === undefined) return 0;
  const waitMs = RETRY_AFTER_MS[failed.times - 1];
  return waitMs === undefined ? 'never' : Date.parse(failed.last_at) + waitMs;
}

export function mayTry(failures: readonly FailedVersion[], version: string, nowMs: number): boolean {
  const at = retryAt(failures, version);
  return at !== 'never' && at <= nowMs;
}

/** With one failure more; the oldest are forgotten when there are too many. */
export function withFailure(
  failures: readonly FailedVersion[],
  { version, atMs, max }: { version: string; atMs: number; max: number },
): FailedVersion[] {
  const times = (failures.find((one) => one.version === version)?.times ?? 0) + 1;
  const others = failures.filter((one) => one.version !== version);
  const failed = { version, times, last_at: new Date(atMs).toISOString() };
  return [...others, failed].slice(-max);
}

export function isNewer(version: string, than: string): boolean {
  return compareVersions('tidegate', version, than) === 1;
}

export interface Offer {
  version: string;
  filename: string;
  sha256: string;
}

/** The newest version of a release for this processor that is above the installed one and may be tried; null: none. */
export function newestOffer(
  files: ReleaseFiles,
  host: { target: string; installed: string; failures: readonly FailedVersion[]; nowMs: number },
): Offer | null {
  let best: Offer | null = null;
  for (const [filename, sha256] of files) {
    const [, version, target] = ARCHIVE.exec(filename) ?? [];
    if (version === undefined || target !== host.target) continue;
    if (!isNewer(version, best?.version ?? host.installed)) continue;
    if (mayTry(host.failures, version, host.nowMs)) best = { version, filename, sha256 };
  }
  return best;
}
