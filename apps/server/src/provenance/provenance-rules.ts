import type { AgedEcosystem } from '../release-times/subjects.ts';

/**
 * `verified`: signed under the trusted root, for exactly the artifact of the plan. `unverified`: there is one
 * for it, but no trusted root is configured or it does not verify. `mismatch`: it is for different bytes.
 * `absent`: the registry says that there is none. `unknown`: anything else.
 */
export type ProvenanceStatus = 'verified' | 'unverified' | 'absent' | 'unknown' | 'mismatch';

export interface Provenance {
  readonly status: ProvenanceStatus;
  /** Both from the certificate of the signer, so only if it is verified. */
  readonly sourceRepository: string | null;
  readonly builder: string | null;
}

/** A version to fetch provenance for; without an artifact only its existence can be determined. */
export interface ProvenanceSubject {
  readonly ecosystem: AgedEcosystem;
  readonly name: string;
  readonly version: string;
  readonly artifact: { readonly filename: string; readonly hash: ArtifactHash } | null;
}

export interface ArtifactHash {
  readonly algorithm: 'sha256' | 'sha512';
  readonly hex: string;
}

export function provenanceKey({ ecosystem, name, version, artifact }: ProvenanceSubject): string {
  return `${ecosystem}\n${name}\n${version}\n${artifact?.hash.hex ?? ''}`;
}

/** Times after which a registry is queried again, in milliseconds; a verified result is final. */
const RETRY_MS: Readonly<Record<ProvenanceStatus, number>> = {
  verified: Number.POSITIVE_INFINITY,
  mismatch: 24 * 3_600_000,
  unverified: 24 * 3_600_000,
  absent: 24 * 3_600_000,
  unknown: 15 * 60_000,
};

export function isSettled(
  { status, fetchedAtMs }: { status: ProvenanceStatus; fetchedAtMs: number },
  nowMs: number,
): boolean {
  return nowMs >= fetchedAtMs && nowMs < fetchedAtMs + RETRY_MS[status];
}

/**
 * What is kept of an answer: one that tells nothing takes nothing away from an earlier one, which is asked for again as soon as
 * what is unknown.
 */
export function keptOf<T extends { status: ProvenanceStatus; fetched_at: number }>(
  answer: T,
  before: T | null,
): T {
  if (answer.status !== 'unknown' || before === null || before.status === 'unknown') return answer;
  if (before.status === 'verified') return before;
  return { ...before, fetched_at: answer.fetched_at + RETRY_MS.unknown - RETRY_MS[before.status] };
}

const RANK: readonly ProvenanceStatus[] = ['verified', 'unverified', 'mismatch', 'absent', 'unknown'];

/** The strongest of several attestations of one artifact; `absent` if there is none. */
export function bestOf(all: readonly Provenance[]): Provenance {
  return all.toSorted((a, b) => RANK.indexOf(a.status) - RANK.indexOf(b.status))[0] ?? bare('absent');
}

export function bare(status: ProvenanceStatus): Provenance {
  return { status, sourceRepository: null, builder: null };
}

/** The version on the host had provenance and the registry says that the new one has none. */
export function isDropped(before: ProvenanceStatus | undefined, after: ProvenanceStatus): boolean {
  return after === 'absent' && (before === 'verified' || before === 'unverified' || before === 'mismatch');
}
