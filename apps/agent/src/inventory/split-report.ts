import { createHash } from 'node:crypto';
import {
  INVENTORY_MAX_BYTES,
  INVENTORY_MAX_PACKAGES,
  INVENTORY_MAX_PARTS,
  INVENTORY_MAX_UPDATES,
  INVENTORY_PARTS_MAX_BYTES,
  INVENTORY_PARTS_MAX_PACKAGES,
  INVENTORY_PARTS_MAX_UPDATES,
  type InventoryPackage,
  type InventoryReport,
  type InventoryUpdate,
} from '@tidegate/protocol/agent-api';

/** Where a report does not fit into one request, each part is about as large: half of what a request may be. */
const PART_BYTES = INVENTORY_MAX_BYTES / 2;

/** A report as the bodies of the requests that bring it, in their order: most have one. */
export interface EncodedReport {
  readonly bodies: readonly Uint8Array[];
  /** What the check-in calls it: the digest of the one body, or over the digests of all. */
  readonly sha256: string;
}

/** Encodes a report, in parts where it is larger than one request may be; null where it is larger than all of them. */
export function encodeReport(report: InventoryReport): EncodedReport | null {
  const whole = encode(report);
  if (fitsOneRequest(report, whole)) return encodedOf([whole]);
  if (report.packages.length > INVENTORY_PARTS_MAX_PACKAGES) return null;
  if (report.updates.length > INVENTORY_PARTS_MAX_UPDATES) return null;
  const bodies = partsOf(report).map(encode);
  const bytes = bodies.reduce((sum, { length }) => sum + length, 0);
  const areTooMany = bodies.length > INVENTORY_MAX_PARTS || bytes > INVENTORY_PARTS_MAX_BYTES;
  return areTooMany || bodies.some(({ length }) => length > INVENTORY_MAX_BYTES) ? null : encodedOf(bodies);
}

export function encodedOf(bodies: readonly Uint8Array[]): EncodedReport {
  const digests = bodies.map(sha256);
  const [only, ...others] = digests;
  return { bodies, sha256: only !== undefined && others.length === 0 ? only : sha256(digests.join('\n')) };
}

function fitsOneRequest({ packages, updates }: InventoryReport, { length }: Uint8Array): boolean {
  return (
    length <= INVENTORY_MAX_BYTES &&
    packages.length <= INVENTORY_MAX_PACKAGES &&
    updates.length <= INVENTORY_MAX_UPDATES
  );
}

type Item = { package: InventoryPackage } | { update: InventoryUpdate };

function partsOf({ packages, updates, ...scan }: InventoryReport): InventoryReport[] {
  const parts: InventoryReport[] = [];
  let part: InventoryReport = { ...scan, packages: [], updates: [] };
  let bytes = 0;
  const items: Item[] = [
    ...packages.map((each) => ({ package: each })),
    ...updates.map((each) => ({ update: each })),
  ];
  for (const item of items) {
    const added = Buffer.byteLength(JSON.stringify('package' in item ? item.package : item.update)) + 1;
    const isFull =
      bytes + added > PART_BYTES ||
      part.packages.length === INVENTORY_MAX_PACKAGES ||
      part.updates.length === INVENTORY_MAX_UPDATES;
    if (isFull && bytes > 0) {
      parts.push(part);
      part = { ...scan, packages: [], updates: [] };
      bytes = 0;
    }
    if ('package' in item) part.packages.push(item.package);
    else part.updates.push(item.update);
    bytes += added;
  }
  return [...parts, part];
}

function encode(report: InventoryReport): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(report));
}

export function sha256(data: Uint8Array | string): string {
  return createHash('sha256').update(data).digest('hex');
}
