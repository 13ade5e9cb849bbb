import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // The file is part of the key: PyPI has a time of release for each file.
  `CREATE TABLE release_times (
    ecosystem TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    artifact TEXT NOT NULL DEFAULT '',
    published_at BIGINT,
    standing TEXT NOT NULL DEFAULT 'unknown',
    source TEXT NOT NULL,
    fetched_at BIGINT NOT NULL,
    PRIMARY KEY (ecosystem, name, version, artifact)
  )`,

  `CREATE TABLE first_seen (
    ecosystem TEXT NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    arch TEXT NOT NULL,
    first_seen_at BIGINT NOT NULL,
    agent_id TEXT NOT NULL,
    PRIMARY KEY (ecosystem, scope, name, version, arch)
  )`,
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    release_times: {
      ecosystem: string;
      name: string;
      version: string;
      /** Hash of the file with that time; empty if no file was named. */
      artifact: string;
      published_at: number | null;
      /** The registry's standing of that hash: confirmed, contradicted or unknown. */
      standing: 'confirmed' | 'contradicted' | 'unknown';
      source: string;
      fetched_at: number;
    };
    first_seen: {
      ecosystem: Ecosystem;
      scope: string;
      name: string;
      version: string;
      arch: string;
      first_seen_at: number;
      agent_id: string;
    };
  }
}
