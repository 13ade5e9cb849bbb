import type { Generated } from 'kysely';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // Counted anew by each pass, except the times at which something was first known, and what operators recorded.
  `CREATE TABLE unfixed (
    id TEXT PRIMARY KEY,
    ecosystem TEXT NOT NULL,
    distribution TEXT NOT NULL,
    package TEXT NOT NULL,
    vulnerability TEXT NOT NULL,
    names TEXT NOT NULL,
    packages TEXT NOT NULL,
    hosts BIGINT NOT NULL,
    pending BIGINT NOT NULL,
    first_seen_at BIGINT NOT NULL,
    gone_at BIGINT,
    severity TEXT,
    exploited INTEGER,
    fixed_in TEXT,
    fix_known_at BIGINT,
    fix_offered_at BIGINT,
    hook TEXT,
    note TEXT,
    mitigated_by TEXT,
    mitigated_at BIGINT,
    UNIQUE (distribution, package, vulnerability)
  )`,
  'CREATE INDEX unfixed_by_hosts ON unfixed (hosts, id) WHERE hosts > 0',
  'CREATE INDEX unfixed_gone ON unfixed (gone_at) WHERE gone_at IS NOT NULL',
  // The same for each group of hosts, for operators who are bound to groups.
  `CREATE TABLE unfixed_groups (
    group_name TEXT NOT NULL,
    unfixed_id TEXT NOT NULL REFERENCES unfixed (id),
    hosts BIGINT NOT NULL,
    pending BIGINT NOT NULL,
    first_seen_at BIGINT NOT NULL,
    PRIMARY KEY (group_name, unfixed_id)
  )`,
  'CREATE INDEX unfixed_groups_of ON unfixed_groups (unfixed_id)',
  // What the counts rest on; the empty group is that of hosts without one.
  `CREATE TABLE unfixed_coverage (
    group_name TEXT PRIMARY KEY,
    hosts BIGINT NOT NULL,
    unknown_hosts BIGINT NOT NULL
  )`,
  // One server counts at a time: the one whose claim this is.
  `CREATE TABLE unfixed_pass (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    claim TEXT,
    claimed_until BIGINT NOT NULL,
    ended_at BIGINT,
    took_ms BIGINT NOT NULL,
    left_out BIGINT NOT NULL
  )`,
  'INSERT INTO unfixed_pass (id, claim, claimed_until, ended_at, took_ms, left_out) VALUES (1, NULL, 0, NULL, 0, 0)',
];

/** The CVEs of an advisory about several, which the next pass fills in. */
export const UNFIXED_CVES: readonly Statement[] = [
  `ALTER TABLE unfixed ADD COLUMN cves TEXT NOT NULL DEFAULT '[]'`,
];

/** Which records tell of a vulnerability: the next pass fills it in. */
export const UNFIXED_RECORDS: readonly Statement[] = [
  `ALTER TABLE unfixed ADD COLUMN records TEXT NOT NULL DEFAULT '[]'`,
];

/** The order of the list, which the next pass fills in. */
export const UNFIXED_URGENCY: readonly Statement[] = [
  'ALTER TABLE unfixed ADD COLUMN urgency BIGINT NOT NULL DEFAULT 0',
  'CREATE INDEX unfixed_by_urgency ON unfixed (urgency, hosts, id) WHERE hosts > 0',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    unfixed: {
      id: string;
      ecosystem: string;
      distribution: string;
      package: string;
      vulnerability: string;
      /** JSON: every id of the vulnerability. */
      names: string;
      /** JSON: every CVE that it is about. */
      cves: Generated<string>;
      /** JSON: the records that tell of it, also advisories about several vulnerabilities. */
      records: Generated<string>;
      /** JSON: installed packages that it is about, the first of them. */
      packages: string;
      hosts: number;
      pending: number;
      first_seen_at: number;
      /** Since when no host has it; null while one has it. */
      gone_at: number | null;
      severity: string | null;
      /** 1, 0, or null: not known. */
      exploited: number | null;
      /** Known exploited first, then the most severe. */
      urgency: Generated<number>;
      /** The lowest fixed version that the vulnerability database names for one that is installed. */
      fixed_in: string | null;
      fix_known_at: number | null;
      fix_offered_at: number | null;
      hook: string | null;
      note: string | null;
      mitigated_by: string | null;
      mitigated_at: number | null;
    };
    unfixed_groups: {
      group_name: string;
      unfixed_id: string;
      hosts: number;
      pending: number;
      first_seen_at: number;
    };
    unfixed_coverage: { group_name: string; hosts: number; unknown_hosts: number };
    unfixed_pass: {
      id: number;
      claim: string | null;
      claimed_until: number;
      ended_at: number | null;
      took_ms: number;
      left_out: number;
    };
  }
}
