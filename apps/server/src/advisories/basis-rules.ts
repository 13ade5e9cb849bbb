import type { ClosurePackage } from './closure-packages.ts';
import { isFresh } from './freshness.ts';
import { baseOf } from './mirror/snapshot.ts';
import type { Check } from './store.ts';
import { subjectKey } from './subjects.ts';

/** What a closure's verdict rests on, so that its decision can detect a change. */
export interface Basis {
  /** Equal only if every subject is known or unknown exactly as before, and the records it has are the same. */
  readonly mark: string;
  /** Keys of the subjects without a fresh check: in the state after the update, and in the present one. */
  readonly unknown: { readonly after: readonly string[]; readonly before: readonly string[] };
}

/** Which records, and which list of exploited vulnerabilities, findings were read from. */
export interface Evidence {
  /** `recordMark` of each stored record, by id. */
  readonly records: ReadonlyMap<string, string>;
  /** Null while the list does not say what is not exploited. */
  readonly kevFetchedAtMs: number | null;
}

/**
 * Reads the checks as the verdict does. Where one is missing, the mirror may gain an answer when its data changes, so the
 * snapshot in use is part of the basis.
 */
export function basisOf(args: {
  packages: readonly ClosurePackage[];
  checks: ReadonlyMap<string, Check>;
  evidence: Evidence;
  /** `snapshotMark` of every ecosystem that the mirror holds. */
  snapshots: ReadonlyMap<string, string>;
  nowMs: number;
  maxAgeMs: number;
}): Basis {
  const { packages, checks, evidence, snapshots, nowMs, maxAgeMs } = args;
  const unknown = { after: [] as string[], before: [] as string[] };
  const parts: unknown[] = [];
  let hasFindings = false;
  for (const { after, before } of packages) {
    for (const [side, subjects] of [
      ['after', after.subjects],
      ['before', before?.subjects ?? []],
    ] as const) {
      for (const subject of subjects) {
        const key = subjectKey(subject);
        const check = checks.get(key);
        const isKnown = isFresh(check, { nowMs, maxAgeMs });
        if (!isKnown) unknown[side].push(key);
        const snapshot = isKnown ? null : (snapshots.get(baseOf(subject.ecosystem)) ?? '');
        const records = (check?.ids ?? []).map((id) => [id, evidence.records.get(id) ?? null]);
        parts.push([check?.verdict ?? null, check?.reason ?? null, records, snapshot]);
        hasFindings ||= records.length > 0;
      }
    }
  }
  // What excuses a finding depends on its record, and on the list of exploited vulnerabilities.
  return { mark: JSON.stringify([parts, hasFindings && evidence.kevFetchedAtMs]), unknown };
}
