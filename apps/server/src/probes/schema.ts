import type { ProbesState } from '@tidegate/protocol/probes';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // The newest report of each host; hosts without a row have reported none.
  `CREATE TABLE agent_probes (
    agent_id TEXT PRIMARY KEY REFERENCES agents (id),
    state TEXT NOT NULL,
    since BIGINT NOT NULL,
    looked_at BIGINT NOT NULL,
    probes TEXT NOT NULL,
    red_told INTEGER NOT NULL,
    told_at BIGINT
  )`,
  'CREATE INDEX agent_probes_by_state ON agent_probes (state, agent_id)',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    agent_probes: {
      agent_id: string;
      state: ProbesState;
      /** Since when it is in this state without a break. */
      since: number;
      /** When the host looked, and never later than the server heard of it. */
      looked_at: number;
      /** JSON: the probes, each with since when it is in its state. */
      probes: string;
      /** 1: the newest event said that it is red. */
      red_told: number;
      /** When that event was. */
      told_at: number | null;
    };
  }
}
