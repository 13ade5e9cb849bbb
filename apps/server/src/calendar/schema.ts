import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // How many installations ended in each quarter of an hour: no answer counts commands.
  `CREATE TABLE run_slots (
    slot BIGINT NOT NULL,
    policy_id TEXT NOT NULL,
    installed BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    PRIMARY KEY (slot, policy_id)
  )`,
  // Up to when they are counted; one row.
  'CREATE TABLE run_mark (id INTEGER PRIMARY KEY CHECK (id = 1), until BIGINT NOT NULL)',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    run_slots: {
      /** Quarters of an hour since 1970: time zones differ by no less. */
      slot: number;
      /** Of the policy that approved; empty: people did. */
      policy_id: string;
      installed: number;
      failed: number;
      refused: number;
    };
    run_mark: { id: number; until: number };
  }
}
