import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { Envelope } from '@tidegate/protocol/documents';
import { EVIDENCE_TYPE, EvidenceManifest } from '@tidegate/protocol/evidence-api';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { verifyEnvelope } from '@tidegate/signing/verify';
import { Compile } from 'typebox/compile';
import { sha256Hex } from '../platform/sha256.ts';
import { lineDigest, manifestBytes } from './bundle-form.ts';
import { createTally, FIGURES } from './figure-rules.ts';
import { type ArchiveBytes, type BundleEntry, listBundle } from './open-bundle.ts';
import { type BundleFault, FaultyBundle } from './verify-fault.ts';
import { createLineChecks, type EventCounts } from './verify-lines.ts';
import { type FleetKeys, type KeyLine, type Pins, vouchKeys } from './vouch-keys.ts';

const envelopes = Compile(Envelope);
const manifests = Compile(EvidenceManifest);
/** Folders of data have numbered parts. */
const PART = /^([a-z]+)\/([0-9]{4,5})\.ndjson$/;

export interface VerifiedBundle {
  readonly manifest: EvidenceManifest;
  readonly keys: FleetKeys;
  /** The key that signed the manifest. */
  readonly keyId: string;
  readonly events: EventCounts;
}

export type BundleVerdict =
  | ({ readonly ok: true } & VerifiedBundle)
  | { readonly ok: false; readonly fault: BundleFault };

/**
 * Verifies a bundle by pinned keys alone. Each file is read once into memory, compared with its signed hash, and those very
 * bytes are parsed; the first fault ends it.
 */
export async function verifyBundle(
  archive: ArchiveBytes,
  { pins, onFile = async () => {} }: { pins: Pins; onFile?: (done: number, total: number) => Promise<void> },
): Promise<BundleVerdict> {
  try {
    return { ok: true, ...(await walk(archive, pins, onFile)) };
  } catch (error) {
    if (error instanceof FaultyBundle) return { ok: false, fault: error.fault };
    throw error;
  }
}

async function walk(
  archive: ArchiveBytes,
  pins: Pins,
  onFile: (done: number, total: number) => Promise<void>,
): Promise<VerifiedBundle> {
  const entries = listBundle(archive);
  const contentOf = ({ at, bytes }: BundleEntry) => archive.read(at, bytes);
  const keys = vouchKeys(keyLinesOf(entries, contentOf), pins);
  const { manifest, keyId } = openManifest(contentOf(last(entries)), keys);
  requireListed(entries.slice(0, -1), manifest);

  const hashes = new Map(manifest.files.map(({ name, sha256 }) => [name, sha256]));
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const tally = createTally(FIGURES);
  const checks = createLineChecks({ manifest, keys });
  const counts = new Map(Object.keys(manifest.lines).map((folder) => [folder, 0]));
  let figures: Buffer | null = null;
  for (const [i, entry] of entries.slice(0, -1).entries()) {
    const { name } = entry;
    const bytes = contentOf(entry);
    if (sha256Hex(bytes) !== hashes.get(name)) {
      const digests = byName.get(name.startsWith('lines/') ? name.slice(6) : `lines/${name}`);
      throw changedFile(name, bytes, digests === undefined ? null : contentOf(digests));
    }
    if (name === 'figures.ndjson') figures = bytes;
    const folder = PART.exec(name)?.[1];
    if (folder !== undefined) {
      requireNextPart(name, folder, counts);
      for (const { value, line } of linesIn(name, bytes)) {
        checks.take(folder, value, { file: name, line });
        tally.take(folder, value, `${name}:${line}`);
        counts.set(folder, (counts.get(folder) ?? 0) + 1);
      }
    }
    await onFile(i + 1, entries.length);
  }
  const events = checks.end();
  for (const [folder, count] of counts) {
    if (count === manifest.lines[folder]) continue;
    throw new FaultyBundle('manifest.json', `${folder}/ has ${count} lines`, { field: `lines.${folder}` });
  }
  requireFigures(figures, tally.result());
  return { manifest, keys, keyId, events };
}

function last(entries: readonly BundleEntry[]): BundleEntry {
  const entry = entries.at(-1);
  if (!entry) throw new FaultyBundle('manifest.json', 'is missing');
  return entry;
}

function* keyLinesOf(
  entries: readonly BundleEntry[],
  contentOf: (entry: BundleEntry) => Buffer,
): Generator<KeyLine> {
  for (const entry of entries) {
    if (!entry.name.startsWith('keys/')) continue;
    for (const { value, line } of linesIn(entry.name, contentOf(entry)))
      yield { value, file: entry.name, line };
  }
}

/** Every line of a file, as an object. */
function* linesIn(file: string, bytes: Buffer): Generator<{ value: object; line: number }> {
  let line = 0;
  for (let at = 0; at < bytes.length; ) {
    line++;
    const end = bytes.indexOf(10, at);
    if (end === -1) throw new FaultyBundle(file, 'does not end with a line break', { line });
    const parsed = parseStrictJson(bytes.subarray(at, end));
    if (!parsed.ok) throw new FaultyBundle(file, parsed.reason, { line });
    const { value } = parsed;
    if (typeof value !== 'object' || value === null) throw new FaultyBundle(file, 'is no object', { line });
    yield { value, line };
    at = end + 1;
  }
}

function openManifest(bytes: Buffer, keys: FleetKeys): { manifest: EvidenceManifest; keyId: string } {
  const file = 'manifest.json';
  const outer = parseStrictJson(bytes);
  if (!outer.ok) throw new FaultyBundle(file, outer.reason);
  const envelope = outer.value;
  if (!envelopes.Check(envelope)) throw new FaultyBundle(file, 'is no envelope');
  const verified = verifyEnvelope(envelope, keys.keys, EVIDENCE_TYPE);
  if (!verified.ok)
    throw new FaultyBundle(file, `is signed by no key of the fleet (${verified.reason})`, {
      field: 'signatures',
    });
  const { keyId, payload } = verified;
  // The payload is covered; these bytes around it are not, so they have one form.
  if (envelope.signatures[0]?.keyid !== keyId || !manifestBytes(envelope).equals(bytes))
    throw new FaultyBundle(file, 'is not written as a bundle writes it', { field: 'signatures' });
  const parsed = parseStrictJson(payload);
  if (!parsed.ok || !manifests.Check(parsed.value))
    throw new FaultyBundle(file, 'the signed text is no manifest', { field: 'payload' });
  const manifest = parsed.value;
  if (manifest.fleet_id !== keys.fleetId)
    throw new FaultyBundle(file, 'is of another fleet than its key sets', { field: 'fleet_id' });
  const revoked = keys.revokedAtMs.get(keyId);
  if (revoked !== undefined && Date.parse(manifest.made_at) >= revoked)
    throw new FaultyBundle(file, 'its key was revoked before it signed', { field: 'made_at' });
  return { manifest, keyId };
}

/** The archive and the manifest name the same files, which the manifest sorts. */
function requireListed(entries: readonly BundleEntry[], { files }: EvidenceManifest): void {
  const listed = new Map(files.map((file) => [file.name, file]));
  const at = { field: 'files' };
  const isSorted = files.every((file, i) => i === 0 || (files[i - 1]?.name ?? '') < file.name);
  if (!isSorted) throw new FaultyBundle('manifest.json', 'its files are not sorted by name', at);
  for (const { name, bytes } of entries) {
    const file = listed.get(name);
    if (!file) throw new FaultyBundle(name, 'is not in the manifest');
    if (file.bytes !== bytes) throw new FaultyBundle(name, `has ${bytes} bytes, and not ${file.bytes}`);
    listed.delete(name);
  }
  const [missing] = listed.keys();
  if (missing !== undefined) throw new FaultyBundle(missing, 'is in the manifest and not in the archive');
}

/** Which line of a file is another; the digests of lines are a help, and may themselves be what was changed. */
function changedFile(name: string, bytes: Buffer, digests: Buffer | null): FaultyBundle {
  const detail = 'is not what the manifest names: its SHA-256 differs';
  if (digests === null) return new FaultyBundle(name, detail);
  const isDigests = name.startsWith('lines/');
  const [data, known] = isDigests ? [digests, bytes] : [bytes, digests];
  const lines = splitLines(data).map((line) => `${lineDigest(line)}\n`);
  const wanted = splitLines(known).map((line) => line.toString('latin1'));
  const length = Math.max(lines.length, wanted.length);
  for (let i = 0; i < length; i++)
    if (lines[i] !== wanted[i]) return new FaultyBundle(name, detail, { line: i + 1 });
  return new FaultyBundle(name, detail);
}

function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at);
    const next = end === -1 ? bytes.length : end + 1;
    lines.push(bytes.subarray(at, next));
    at = next;
  }
  return lines;
}

function requireNextPart(name: string, folder: string, counts: ReadonlyMap<string, number>): void {
  if (!counts.has(folder)) throw new FaultyBundle(name, 'the manifest counts no lines of its folder');
}

function requireFigures(bytes: Buffer | null, counted: readonly object[]): void {
  const file = 'figures.ndjson';
  if (bytes === null) throw new FaultyBundle(file, 'is missing');
  const lines = [...linesIn(file, bytes)];
  for (const [i, figure] of counted.entries()) {
    const found = lines[i];
    if (found && canonicalJson(found.value) === canonicalJson(figure)) continue;
    const id = 'id' in figure ? String(figure.id) : '';
    const text = `counting again gives ${canonicalJson(figure)} for ${id}`;
    throw new FaultyBundle(file, text, { line: i + 1, field: 'value' });
  }
  if (lines.length !== counted.length) throw new FaultyBundle(file, 'has more numbers than the report');
}
