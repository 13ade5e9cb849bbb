import type { PackumentVersion } from './packument-times.ts';
import type { AgeSubject } from './subjects.ts';
import { releaseTimeMs } from './time-rules.ts';

/**
 * The time of the artifact that would be installed. The registry may know a version of that name that is another one:
 * where its hash is not that of the plan, its time says nothing about what comes. Old versions have no SHA-512.
 */
export function npmTimeMs(
  said: PackumentVersion | undefined,
  artifact: AgeSubject['artifact'],
  nowMs: number,
): number | null {
  if (!said || said.integrity === null) return null;
  const sha512 = said.integrity === undefined ? undefined : sha512Of(said.integrity);
  if (sha512 !== undefined && artifact?.sha512 && artifact.sha512 !== sha512) return null;
  return releaseTimeMs(said.time, nowMs);
}

/** SHA-512 of a subresource integrity as hex; undefined where it has none. */
function sha512Of(integrity: string): string | undefined {
  const token = integrity.split(/\s/).find((one) => one.startsWith('sha512-'));
  return token === undefined ? undefined : Buffer.from(token.slice(7), 'base64').toString('hex');
}
