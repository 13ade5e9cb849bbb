import type { Generated } from 'kysely';
import type { Statement } from '../platform/db/statement.ts';
import { EXPLOITED } from './exploited/schema.ts';
import { MIRROR } from './mirror/schema.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE advisory_checks (
    ecosystem TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('clear', 'vulnerable', 'unchecked')),
    reason TEXT,
    advisory_ids TEXT NOT NULL,
    checked_at BIGINT NOT NULL,
    source TEXT NOT NULL,
    snapshot TEXT,
    PRIMARY KEY (ecosystem, name, version)
  )`,

  `CREATE TABLE advisory_coverage (
    ecosystem TEXT PRIMARY KEY,
    covered INTEGER NOT NULL,
    checked_at BIGINT NOT NULL
  )`,

  `CREATE TABLE advisories (
    id TEXT PRIMARY KEY,
    modified TEXT NOT NULL,
    record TEXT NOT NULL,
    fetched_at BIGINT NOT NULL
  )`,

  ...MIRROR,
  ...EXPLOITED,
];

/** Since when nobody has asked about a version, as the sweep found. */
export const UNUSED_CHECKS: readonly Statement[] = [
  'ALTER TABLE advisory_checks ADD COLUMN unused_since BIGINT',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    advisory_checks: {
      ecosystem: string;
      name: string;
      version: string;
      verdict: 'clear' | 'vulnerable' | 'unchecked';
      reason: string | null;
      advisory_ids: string;
      checked_at: number;
      source: string;
      snapshot: string | null;
      unused_since: Generated<number | null>;
    };
    advisory_coverage: { ecosystem: string; covered: number; checked_at: number };
    advisories: { id: string; modified: string; record: string; fetched_at: number };
  }
}
