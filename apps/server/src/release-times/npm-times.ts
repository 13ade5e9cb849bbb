import type { PackumentVersion } from './packument-times.ts';
import type { AgeSubject } from './subjects.ts';
import { CONTRADICTED, type RegistrySays, releaseTimeMs, SAYS_NOTHING } from './time-rules.ts';

/**
 * The packument's facts about the artifact to install. A packument without its version contradicts it: the
 * version was unpublished, or is from another source. Old versions have no SHA-512 to compare.
 */
export function npmSays(
  said: PackumentVersion | undefined,
  artifact: AgeSubject['artifact'],
  nowMs: number,
): RegistrySays {
  if (!said?.isListed) return CONTRADICTED;
  if (said.integrity === null) return SAYS_NOTHING;
  const publishedAtMs = releaseTimeMs(said.time, nowMs);
  const sha512 = said.integrity === undefined ? undefined : sha512Of(said.integrity);
  if (sha512 === undefined || !artifact?.sha512) return { publishedAtMs, standing: 'unknown' };
  return artifact.sha512 === sha512 ? { publishedAtMs, standing: 'confirmed' } : CONTRADICTED;
}

/** SHA-512 of a subresource integrity as hex; undefined if it has none. */
function sha512Of(integrity: string): string | undefined {
  const token = integrity.split(/\s/).find((one) => one.startsWith('sha512-'));
  return token === undefined ? undefined : Buffer.from(token.slice(7), 'base64').toString('hex');
}
