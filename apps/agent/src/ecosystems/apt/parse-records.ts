import type { Parsed } from './parse-transaction.ts';

/** What the index says about one version of a package. */
export interface PackageRecord {
  name: string;
  version: string;
  arch: string;
  sourceName: string;
  sourceVersion: string;
  sizeBytes: number;
  /** Empty when the index has none; the package must not be fetched then. */
  sha256: string;
}

/** Reads `apt-cache show`: paragraphs of `Field: value`, with continuation lines that start with a space. */
export function parseRecords(output: string): Parsed<PackageRecord[]> {
  const records: PackageRecord[] = [];
  for (const paragraph of output.split(/\n[ \t]*\n/)) {
    if (paragraph.trim() === '') continue;
    const fields = readFields(paragraph);
    const name = fields.get('package');
    const version = fields.get('version');
    const arch = fields.get('architecture');
    if (!name || !version || !arch) {
      return {
        ok: false,
        reason: `a record of apt cannot be read: ${JSON.stringify(paragraph.slice(0, 200))}`,
      };
    }
    // An installed version that is in no archive has no file.
    if (!fields.has('filename')) continue;
    const source = /^(\S+)(?: \((\S+)\))?$/.exec(fields.get('source') ?? name);
    const size = /^\d{1,15}$/.exec(fields.get('size') ?? '');
    if (!source || !size) return { ok: false, reason: `the record of ${name} ${version} cannot be read` };
    const [, sourceName = name, sourceVersion = version] = source;
    const sha256 = fields.get('sha256') ?? '';
    records.push({ name, version, arch, sourceName, sourceVersion, sizeBytes: Number(size[0]), sha256 });
  }
  return { ok: true, value: records };
}

function readFields(paragraph: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of paragraph.split('\n')) {
    const [, field, value] = /^([^\s:]+):[ \t]*(.*)$/.exec(line) ?? [];
    if (field !== undefined && value !== undefined) fields.set(field.toLowerCase(), value.trim());
  }
  return fields;
}
