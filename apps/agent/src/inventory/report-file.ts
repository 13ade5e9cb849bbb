import {
  INVENTORY_MAX_PARTS,
  INVENTORY_PARTS_MAX_BYTES,
  InventoryReport,
} from '@tidegate/protocol/agent-api';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Check } from 'typebox/value';
import { errorCode, ownUid, readTrusted, writeDurably } from '../platform/file-layer.ts';
import type { Log } from '../platform/log.ts';
import { type EncodedReport, encodedOf, sha256 } from './split-report.ts';

/** All parts of a report with the line ends between them. */
const FILE_MAX_BYTES = INVENTORY_PARTS_MAX_BYTES + INVENTORY_MAX_PARTS;

export interface Report {
  encoded: EncodedReport;
  /** Digest of the package manager's data, without the time. */
  contentSha256: string;
  content: InventoryReport;
}

export function contentDigest({
  complete,
  packages,
  updates,
  condition,
}: Pick<InventoryReport, 'complete' | 'packages' | 'updates' | 'condition'>): string {
  return sha256(canonicalJson({ complete, packages, updates, ...(condition && { condition }) }));
}

/** JSON on one line holds no line end: each body is a line of the file. */
const LINE_END = 0x0a;

/** Null if there is none, or none that can be trusted: it is only a cache of a scan. */
export function loadReport(path: string): Report | null {
  const read = readTrusted(path, { maxBytes: FILE_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 });
  if (!read.ok) return null;
  const bodies = linesOf(read.bytes);
  const parts: InventoryReport[] = [];
  for (const body of bodies) {
    const parsed = parseStrictJson(body);
    if (!parsed.ok || !Check(InventoryReport, parsed.value)) return null;
    parts.push(parsed.value);
  }
  const [first] = parts;
  if (first === undefined) return null;
  const { scanned_at, complete, condition } = first;
  const packages = parts.flatMap((part) => part.packages);
  const updates = parts.flatMap((part) => part.updates);
  const content = { scanned_at, complete, packages, updates, ...(condition && { condition }) };
  return { encoded: encodedOf(bodies), contentSha256: contentDigest(content), content };
}

function linesOf(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  let start = 0;
  for (let end = bytes.indexOf(LINE_END); end >= 0; end = bytes.indexOf(LINE_END, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return [...lines, bytes.subarray(start)];
}

/** Returns whether it is stored. */
export function saveReport(path: string, { bodies }: EncodedReport, log: Log): boolean {
  const lines = bodies.flatMap((body, index) => (index === 0 ? [body] : [Uint8Array.of(LINE_END), body]));
  try {
    writeDurably(path, Buffer.concat(lines), { mode: 0o600 });
    return true;
  } catch (error) {
    // A cache only: without it the next start sends the report once more.
    log.warn('the inventory cannot be stored', { path, reason: errorCode(error) });
    return false;
  }
}
