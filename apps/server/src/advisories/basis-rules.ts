import type { ClosurePackage } from './closure-packages.ts';
import { isFresh } from './freshness.ts';
import { baseOf } from './mirror/snapshot.ts';
import type { Check } from './store.ts';
import { subjectKey } from './subjects.ts';

/** What the verdict of a closure rests on, so that its decision can tell whether it still does. */
export interface Basis {
  /** Equal only where every subject is known, or not known, as it was. */
  readonly mark: string;
  /** Keys of the subjects without a check that is fresh: what will be there, and what is there now. */
  readonly unknown: { readonly after: readonly string[]; readonly before: readonly string[] };
}

/**
 * Looks at the checks as the verdict does. Where there is none the mirror can have an answer as soon as its data changes,
 * so the snapshot in use is part of it.
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
