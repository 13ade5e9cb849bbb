import { Count, nullable, Sha256Hex, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';

/** The form of the file that this program writes. Form 1 has no MAC. */
export const BACKUP_VERSION = 2;
/** The forms that it reads. */
export const BACKUP_VERSIONS: readonly number[] = [1, BACKUP_VERSION];

const TableName = Type.String({ pattern: '^[a-z][a-z0-9_]{0,62}$' });

/** The first line: the contents of the file. */
const Header = strict({
  format: Type.Literal('tidegate-backup'),
  v: Type.Integer(),
  schema_version: Count,
  created_at: Timestamp,
  engine: Type.Enum(['sqlite', 'postgres']),
  fleet_id: Uuid,
  epoch: Count,
  events: strict({ position: Count, hash: nullable(Sha256Hex) }),
  with_keys: Type.Boolean(),
});
export type BackupHeader = Static<typeof Header>;

const Table = strict({ table: TableName, columns: Type.Array(TableName, { minItems: 1, maxItems: 200 }) });
const Row = Type.Array(Type.Union([Type.String(), Type.Number(), Type.Null()]), { minItems: 1 });
/** A secret of the data folder; only in a backup with keys. */
const SecretFile = strict({
  file: Type.String({ pattern: '^(jwt-secret|keys/[0-9a-f-]{36}\\.key)$' }),
  text: Type.String({ maxLength: 4_096 }),
});
/** The last line: the counts, the SHA-256 of every byte before it, and a MAC over both. */
const End = strict({
  end: Type.Literal(true),
  tables: Type.Record(TableName, Count),
  files: Count,
  sha256: Sha256Hex,
  mac: Type.Optional(Sha256Hex),
});

export type BackupLine =
  | { kind: 'header'; header: BackupHeader }
  | { kind: 'table'; table: string; columns: string[] }
  | { kind: 'row'; row: (string | number | null)[] }
  | { kind: 'file'; file: string; text: string }
  | { kind: 'end'; tables: Record<string, number>; files: number; sha256: string; mac: string | null };

/** A backup as `--json` shows it. */
export interface BackupManifest extends BackupHeader {
  tables: Record<string, number>;
  files: number;
  sha256: string;
}

const header = Compile(Header);
const table = Compile(Table);
const row = Compile(Row);
const secretFile = Compile(SecretFile);
const end = Compile(End);

/** Reads one line; null if it is none of the five kinds. */
export function readBackupLine(text: string): BackupLine | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (row.Check(value)) return { kind: 'row', row: value };
  if (table.Check(value)) return { kind: 'table', ...value };
  if (header.Check(value)) return { kind: 'header', header: value };
  if (secretFile.Check(value)) return { kind: 'file', ...value };
  if (end.Check(value)) {
    const { tables, files, sha256, mac = null } = value;
    return { kind: 'end', tables, files, sha256, mac };
  }
  return null;
}
