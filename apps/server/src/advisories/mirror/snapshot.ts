import type { Tables } from '../../platform/db/tables.ts';

/** How a snapshot's time is known: read from the source then, its newest record, or an operator's statement. */
export type AsOfKind = Tables['mirror_snapshots']['as_of_kind'];

/** What the mirror holds of one ecosystem, such as Debian. */
export interface Snapshot {
  readonly base: string;
  readonly loadId: number;
  /** The releases of the fleet that it was made for, such as `Debian:12`. */
  readonly releases: readonly string[];
  /** URL, or name of the imported file. */
  readonly source: string;
  /** Its highest `modified`. */
  readonly modifiedMark: string;
  /** Of the initial archive, chained with every change since: it identifies the exact data. */
  readonly sha256: string;
  /** Decisions treat the data as no newer than this. */
  readonly asOfMs: number;
  readonly asOfKind: AsOfKind;
  /** Last full load. */
  readonly loadedAtMs: number;
  readonly records: number;
  readonly badRecords: number;
  /** Unreadable records, which may affect any package: while there is one, no empty answer is "clear". */
  readonly unreadable: readonly string[];
}

/** Most unreadable records; a load or a delta with more of them is rejected. */
export const UNREADABLE_MAX = 200;

/** The part of an ecosystem that OSV exports in one folder: `Debian` of `Debian:12`. */
export function baseOf(ecosystem: string): string {
  return ecosystem.split(':', 1)[0] ?? '';
}

/** The snapshot id that verdicts name; `advisories status` shows source and full hash with it. */
export function snapshotId({ base, modifiedMark, sha256 }: Snapshot): string {
  return `osv:${base}@${modifiedMark}#${sha256.slice(0, 16)}`;
}

/** Equal only for the same data of the same load, known to be as of the same time; empty for none. */
export function snapshotMark(snapshot: Snapshot | null): string {
  return snapshot ? `${snapshot.loadId} ${snapshotId(snapshot)} ${snapshot.asOfMs}` : '';
}

/** Whether decisions may rest on it; a time in the future (a clock set back) counts as too old. */
export function isUsable({ asOfMs }: Snapshot, at: { nowMs: number; maxAgeMs: number }): boolean {
  const ageMs = at.nowMs - asOfMs;
  return ageMs >= -60_000 && ageMs < at.maxAgeMs;
}

/**
 * Whether decisions could not rest on it before its new time: it was just loaded, had grown too old, or was dated in the
 * future.
 */
export function wasUnusable(
  { asOfMs, asOfKind }: Snapshot,
  next: { asOfMs: number; maxAgeMs: number },
): boolean {
  return asOfKind !== 'fetched' || next.asOfMs - asOfMs >= next.maxAgeMs || next.asOfMs < asOfMs;
}
