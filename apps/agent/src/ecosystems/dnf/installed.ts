import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { evrOf, isSafeArgument, sourceOf } from './names-rules.ts';
import type { DnfPlaces, Parsed } from './places.ts';
import type { DnfSession } from './session.ts';

const RPM_TIMEOUT_MS = 120_000;
const RPM_OUTPUT_MAX_BYTES = 32 * 1024 * 1024;
const FIELDS = ['NAME', 'EPOCHNUM', 'VERSION', 'RELEASE', 'ARCH', 'SOURCERPM'];
const FORMAT = `${FIELDS.map((field) => `%{${field}}`).join('\\t')}\\n`;

export interface InstalledPackage {
  name: string;
  arch: string;
  evr: string;
  sourceName: string | null;
  sourceVersion: string | null;
}

/** All packages in rpm's database, without the public keys it stores as packages. */
export async function readInstalled(session: DnfSession): Promise<Parsed<InstalledPackage[]>> {
  const limits = { timeoutMs: RPM_TIMEOUT_MS, maxOutputBytes: RPM_OUTPUT_MAX_BYTES };
  const answer = await session.rpm(['-qa', '--qf', FORMAT], limits);
  if (!answer.ok) return { ok: false, reason: answer.detail };
  // rpm reads what it can of a damaged database and only prints a warning.
  const error = answer.stderr.split('\n').find((line) => line.startsWith('error: '));
  if (error !== undefined) return { ok: false, reason: `rpm: ${error}` };
  return parseInstalled(answer.stdout);
}

interface Row {
  name: string;
  epoch: string;
  version: string;
  release: string;
  arch: string;
  source_rpm: string | null;
}

/** Reads the lines of `rpm -qa`. An unreadable line invalidates all of them; none is skipped. */
export function parseInstalled(output: string): Parsed<InstalledPackage[]> {
  const rows: Row[] = [];
  for (const line of output.split('\n')) {
    if (line === '') continue;
    const parts = line.split('\t');
    const [name = '', epoch = '', version = '', release = '', arch = '', sourceRpm = ''] = parts;
    if (name === 'gpg-pubkey') continue;
    const row = {
      name,
      epoch,
      version,
      release,
      arch,
      source_rpm: sourceRpm === '(none)' ? null : sourceRpm,
    };
    if (parts.length !== FIELDS.length || !isSafeArgument({ name, evr: evrOf(row), arch })) {
      return { ok: false, reason: `a line of rpm cannot be read: ${JSON.stringify(line.slice(0, 200))}` };
    }
    rows.push(row);
  }
  rows.sort(byNameThenVersion); // rpm prints in database order, which would change every report
  const epochs = sourceEpochs(rows);
  return {
    ok: true,
    value: rows.map((row) => {
      const source = sourceOf({ ...row, source_epoch: epochs.get(row.source_rpm ?? '') ?? null });
      const { name, arch } = row;
      return {
        name,
        arch,
        evr: evrOf(row),
        sourceName: source?.name ?? null,
        sourceVersion: source?.version ?? null,
      };
    }),
  };
}

function byNameThenVersion(a: Row, b: Row): number {
  const [left, right] = [`${a.name} ${a.arch} ${evrOf(a)}`, `${b.name} ${b.arch} ${evrOf(b)}`];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The epochs of sources, taken from the package named like its source. */
function sourceEpochs(rows: readonly Row[]): Map<string, string> {
  const epochs = new Map<string, string>();
  for (const row of rows) {
    const source = sourceOf({ ...row, source_epoch: null });
    if (source?.name === row.name && row.source_rpm !== null) epochs.set(row.source_rpm, row.epoch);
  }
  return epochs;
}

/** Changes whenever rpm writes its database; null where there is none to read. */
export async function databaseMark({ database }: DnfPlaces): Promise<string | null> {
  const names = ['rpmdb.sqlite', 'rpmdb.sqlite-wal', 'Packages.db', 'Packages'];
  const marks = await Promise.all(
    names.map(async (name) => {
      const file = await stat(join(database, name), { bigint: true }).catch(() => null);
      return file === null ? '' : `${name}:${file.ino}:${file.size}:${file.mtimeNs}`;
    }),
  );
  return marks.every((mark) => mark === '') ? null : marks.join(' ');
}
