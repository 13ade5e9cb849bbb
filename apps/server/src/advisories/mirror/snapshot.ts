import type { Tables } from '../../platform/db/tables.ts';

/** How the time of a snapshot is known: read from the source then, that of its newest record, or an operator's word. */
export type AsOfKind = Tables['mirror_snapshots']['as_of_kind'];

/** What the mirror holds of one ecosystem, such as Debian. */
export interface Snapshot {
  readonly base: string;
  readonly loadId: number;
  /** The ecosystems of the fleet that it was made for, such as `Debian:12`. */
  readonly releases: readonly string[];
  /** URL, or name of the file that was imported. */
  readonly source: string;
  /** The highest `modified` that is in it. */
  readonly modifiedMark: string;
  /** Of the archive that it began with, chained with every change since: it names the very data. */
  readonly sha256: string;
  /** No decision takes the data for newer than this. */
  readonly asOfMs: number;
  readonly asOfKind: AsOfKind;
  /** Last full load. */
  readonly loadedAtMs: number;
  readonly records: number;
  readonly badRecords: number;
  /** Records that may speak of any package: as long as there is one, no empty answer is "clear". */
  readonly illegible: readonly string[];
}

/** Records that may be illegible; a load or a delta with more of them is not believed. */
export const ILLEGIBLE_MAX = 200;

/** The part of an ecosystem that OSV exports in one folder: `Debian` of `Debian:12`. */
export function baseOf(ecosystem: string): string {
  return ecosystem.split(':', 1)[0] ?? '';
}

/** What a verdict names as its snapshot; `advisories status` shows source and whole hash beside it. */
export function snapshotId({ base, modifiedMark, sha256 }: Snapshot): string {
  return `osv:${base}@${modifiedMark}#${sha256.slice(0, 16)}`;
}

/** Equal only where it is the very same data of the same load, known to be of the same time; empty where there is none. */
export function snapshotMark(snapshot: Snapshot | null): string {
  return snapshot ? `${snapshot.loadId} ${snapshotId(snapshot)} ${snapshot.asOfMs}` : '';
}

/** Whether decisions may rest on it; one that seems to come from the future (a clock set back) is too old. */
export function isUsable({ asOfMs }: Snapshot, at: { nowMs: number; maxAgeMs: number }): boolean {
  const ageMs = at.nowMs - asOfMs;
  return ageMs >= -60_000 && ageMs < at.maxAgeMs;
}

/**
 * Whether no decision may have rested on it until it got a new time: it was just loaded, had grown too old, or seemed
 * to come from the future.
 */
export function wasUnusable(
  { asOfMs, asOfKind }: Snapshot,
  next: { asOfMs: number; maxAgeMs: number },
): boolean {
  return asOfKind !== 'fetched' || next.asOfMs - asOfMs >= next.maxAgeMs || next.asOfMs < asOfMs;
}
