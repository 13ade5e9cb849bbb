import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { INVENTORY_MAX_BYTES, InventoryReport, type InventoryUpdate } from '@tidegate/protocol/agent-api';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Check } from 'typebox/value';
import { timestamp } from './clock.ts';
import type { EcosystemDriver, HostPaths, Scan } from './ecosystems/ecosystem.ts';
import { errorCode, ownUid, readTrusted, writeDurably } from './file-layer.ts';
import type { Log } from './log.ts';

export interface InventoryDependencies {
  folder: string;
  drivers: readonly EcosystemDriver[];
  paths: HostPaths;
  /** The ecosystems that the configuration allows; null for all. */
  allowed: readonly Ecosystem[] | null;
  nowMs: () => number;
  log: Log;
}

/** The latest report of each ecosystem as the bytes that are (or were) sent. */
export interface Inventory {
  /** Scans; a scan that found what the last one found keeps the bytes of that one, and so its digest. */
  scan(wanted: readonly Ecosystem[] | null): Promise<{ scanned: Ecosystem[]; problems: string[] }>;
  /** What the latest report says can be updated. */
  updates(ecosystem: Ecosystem): readonly InventoryUpdate[];
  body(ecosystem: Ecosystem): Uint8Array | null;
  /** sha256 of each body, as the check-in reports it. */
  digests(): Partial<Record<Ecosystem, string>>;
}

interface Report {
  bytes: Uint8Array;
  sha256: string;
  /** Digest of what the package manager said, the time left aside. */
  contentSha256: string;
  content: InventoryReport;
}

/** Opens the inventory of a folder, with the reports of the last run where they are still there. */
export function openInventory(dependencies: InventoryDependencies): Inventory {
  const { folder, drivers, allowed, log } = dependencies;
  const reports = new Map<Ecosystem, Report>();
  for (const { ecosystem } of drivers) {
    const report = loadReport(folder, ecosystem);
    if (report !== null) reports.set(ecosystem, report);
  }

  function keep(ecosystem: Ecosystem, content: InventoryReport): boolean {
    const bytes = encodeReport(content);
    if (bytes === null) return false;
    reports.set(ecosystem, { bytes, sha256: sha256(bytes), contentSha256: contentDigest(content), content });
    saveReport(folder, ecosystem, bytes, log);
    return true;
  }

  async function scanOne(driver: EcosystemDriver): Promise<string | null> {
    const { reason, ...scan } = await driver.scan(dependencies.paths);
    if (reports.get(driver.ecosystem)?.contentSha256 === contentDigest(scan)) return reason;
    const kept = keep(driver.ecosystem, { scanned_at: timestamp(dependencies.nowMs()), ...scan });
    return kept ? reason : 'the inventory is larger than the server takes';
  }

  return {
    scan: async (wanted) => {
      const scanned: Ecosystem[] = [];
      const problems: string[] = [];
      for (const driver of drivers) {
        const { ecosystem } = driver;
        if (allowed !== null && !allowed.includes(ecosystem)) continue;
        if (wanted !== null && !wanted.includes(ecosystem)) continue;
        // What was there and is gone, such as the last environment, has to be said too.
        if (!reports.has(ecosystem) && !(await driver.present(dependencies.paths))) continue;
        const problem = await scanOne(driver);
        const staleness = await driver.findStaleness(dependencies.paths, dependencies.nowMs());
        if (staleness !== null) log.warn('updates may be missing', { ecosystem, reason: staleness });
        scanned.push(ecosystem);
        if (problem !== null) problems.push(`${ecosystem}: ${problem}`);
      }
      return { scanned, problems };
    },
    updates: (ecosystem) => reports.get(ecosystem)?.content.updates ?? [],
    body: (ecosystem) => reports.get(ecosystem)?.bytes ?? null,
    digests: () => Object.fromEntries([...reports].map(([ecosystem, report]) => [ecosystem, report.sha256])),
  };
}

function encodeReport(content: InventoryReport): Uint8Array | null {
  const bytes = new TextEncoder().encode(JSON.stringify(content));
  return bytes.length <= INVENTORY_MAX_BYTES ? bytes : null;
}

function contentDigest({
  complete,
  packages,
  updates,
}: Pick<Scan, 'complete' | 'packages' | 'updates'>): string {
  return sha256(new TextEncoder().encode(canonicalJson({ complete, packages, updates })));
}

function loadReport(folder: string, ecosystem: Ecosystem): Report | null {
  const trust = { maxBytes: INVENTORY_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  const read = readTrusted(reportPath(folder, ecosystem), trust);
  if (!read.ok) return null; // it is only a cache of the last scan
  const parsed = parseStrictJson(read.bytes);
  if (!parsed.ok || !Check(InventoryReport, parsed.value)) return null;
  const content = parsed.value;
  return { bytes: read.bytes, sha256: sha256(read.bytes), contentSha256: contentDigest(content), content };
}

function saveReport(folder: string, ecosystem: Ecosystem, bytes: Uint8Array, log: Log): void {
  try {
    writeDurably(reportPath(folder, ecosystem), bytes, { mode: 0o600 });
  } catch (error) {
    // A cache only: without it the next start sends the report once more.
    log.warn('the inventory cannot be kept', { ecosystem, reason: errorCode(error) });
  }
}

function reportPath(folder: string, ecosystem: Ecosystem): string {
  return join(folder, `inventory-${ecosystem}.json`);
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
