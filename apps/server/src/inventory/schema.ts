import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE agent_packages (
    agent_id TEXT NOT NULL REFERENCES agents (id),
    ecosystem TEXT NOT NULL,
    name TEXT NOT NULL,
    arch TEXT NOT NULL,
    version TEXT NOT NULL,
    source_name TEXT,
    source_version TEXT,
    origin TEXT,
    held INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (agent_id, ecosystem, name, arch, version)
  )`,
  'CREATE INDEX agent_packages_name ON agent_packages (ecosystem, name, version)',

  `CREATE TABLE inventory_reports (
    agent_id TEXT NOT NULL REFERENCES agents (id),
    ecosystem TEXT NOT NULL,
    digest TEXT NOT NULL,
    scanned_at BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    complete INTEGER NOT NULL,
    package_count INTEGER NOT NULL,
    writing TEXT,
    condition TEXT,
    PRIMARY KEY (agent_id, ecosystem)
  )`,

  // A report in parts until all have arrived: gzip in base64, in pieces. Piece 0 comes last and describes the
  // part: a part without it has not arrived.
  `CREATE TABLE inventory_parts (
    agent_id TEXT NOT NULL REFERENCES agents (id),
    ecosystem TEXT NOT NULL,
    report TEXT NOT NULL,
    part INTEGER NOT NULL,
    piece INTEGER NOT NULL,
    received_at BIGINT NOT NULL,
    digest TEXT,
    parts INTEGER,
    pieces INTEGER,
    size_bytes BIGINT,
    package_count INTEGER,
    data TEXT NOT NULL,
    PRIMARY KEY (agent_id, ecosystem, report, part, piece)
  )`,
  'CREATE INDEX inventory_parts_received ON inventory_parts (received_at)',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    inventory_reports: {
      agent_id: string;
      ecosystem: string;
      digest: string;
      scanned_at: number;
      received_at: number;
      complete: number;
      package_count: number;
      /**
       * The writer of a large report in many transactions; null if the stored report is whole. Meanwhile the
       * digest is empty and the report is not complete.
       */
      writing: string | null;
      /** `PackageCondition`; null: not known. */
      condition: string | null;
      /** From when on `inventory_changes` has every change; null: no report is stored yet. */
      changes_since: number | null;
    };
    inventory_parts: {
      agent_id: string;
      ecosystem: string;
      /** The digest over all parts, which names the report. */
      report: string;
      part: number;
      piece: number;
      received_at: number;
      /** From here on null in every piece except the first. */
      digest: string | null;
      parts: number | null;
      pieces: number | null;
      size_bytes: number | null;
      package_count: number | null;
      data: string;
    };
  }
}
