import type { ClosurePackage } from './closure-packages.ts';
import { isFresh } from './freshness.ts';
import { baseOf } from './mirror/snapshot.ts';
import type { Check } from './store.ts';
import { subjectKey } from './subjects.ts';

/** What a closure's verdict rests on, so that its decision can detect a change. */
export interface Basis {
  /** Equal only if every subject is known or unknown exactly as before. */
  readonly mark: string;
  /** Keys of the subjects without a fresh check: in the state after the update, and in the present one. */
  readonly unknown: { readonly after: readonly string[]; readonly before: readonly string[] };
}

/**
 * Reads the checks as the verdict does. Where one is missing, the mirror may gain an answer when its data changes, so the
 * snapshot in use is part of the basis.
 */
export function basisOf(args: {
  packages: readonly ClosurePackage[];
  checks: ReadonlyMap<string, Check>;
  /** `snapshotMark` of every ecosystem that the mirror holds. */
  snapshots: ReadonlyMap<string, string>;
  nowMs: number;
  maxAgeMs: number;
}): Basis {
  const { packages, checks, snapshots, nowMs, maxAgeMs } = args;
  const unknown = { after: [] as string[], before: [] as string[] };
  const parts: unknown[] = [];
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
        parts.push([check?.verdict ?? null, check?.reason ?? null, check?.ids ?? [], snapshot]);
      }
    }
  }
  return { mark: JSON.stringify(parts), unknown };
}
