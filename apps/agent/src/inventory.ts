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

/** Most updates that get a plan in one scan; the server asks for the others by `plan_update`. */
const PLANS_MAX = 500;
/** Longest time that planning may take in one scan. */
const PLANNING_MAX_MS = 10 * 60_000;

export interface InventoryDependencies {
  folder: string;
  drivers: readonly EcosystemDriver[];
  paths: HostPaths;
  /** The ecosystems that the configuration allows; null for all. */
  allowed: readonly Ecosystem[] | null;
  nowMs: () => number;
  elapsedMs: () => number;
  log: Log;
}

/** The latest report of each ecosystem as the bytes that are (or were) sent. */
export interface Inventory {
  /** Scans and plans; a scan that found what the last one found keeps the bytes of that one, and so its digest. */
  scan(wanted: readonly Ecosystem[] | null): Promise<{ scanned: Ecosystem[]; problems: string[] }>;
  body(ecosystem: Ecosystem): Uint8Array | null;
  /** sha256 of each body, as the check-in reports it. */
  digests(): Partial<Record<Ecosystem, string>>;
  /** Makes the next scan plan anew: what was planned has turned out not to be so. */
  forgetPlans(): void;
}

interface Report {
  bytes: Uint8Array;
  sha256: string;
  /** Digest of what the package manager said, before plans were made of it. */
  contentSha256: string;
}

/** Opens the inventory of a folder, with the reports of the last run where they are still there. */
export function openInventory(dependencies: InventoryDependencies): Inventory {
  const { folder, drivers, allowed, log } = dependencies;
  const reports = new Map<Ecosystem, Report>();
  for (const { ecosystem } of drivers) {
    const report = loadReport(folder, ecosystem);
    if (report !== null) reports.set(ecosystem, report);
  }

  async function scanOne(driver: EcosystemDriver): Promise<string | null> {
    const scan = await driver.scan(dependencies.paths);
    const contentSha256 = contentDigest(scan);
    if (reports.get(driver.ecosystem)?.contentSha256 === contentSha256) return scan.reason;
    const updates = await planUpdates(dependencies, driver, scan.updates);
    const bytes = encodeReport({ ...scan, updates }, timestamp(dependencies.nowMs()));
    if (bytes === null) return 'the inventory is larger than the server takes';
    reports.set(driver.ecosystem, { bytes, sha256: sha256(bytes), contentSha256 });
    saveReport(folder, driver.ecosystem, bytes, log);
    return scan.reason;
  }

  return {
    scan: async (wanted) => {
      const scanned: Ecosystem[] = [];
      const problems: string[] = [];
      for (const driver of drivers) {
        const { ecosystem } = driver;
        if (allowed !== null && !allowed.includes(ecosystem)) continue;
        if (wanted !== null && !wanted.includes(ecosystem)) continue;
        if (!(await driver.present(dependencies.paths))) continue;
        const problem = await scanOne(driver);
        scanned.push(ecosystem);
        if (problem !== null) problems.push(`${ecosystem}: ${problem}`);
      }
      return { scanned, problems };
    },
    body: (ecosystem) => reports.get(ecosystem)?.bytes ?? null,
    digests: () => Object.fromEntries([...reports].map(([ecosystem, report]) => [ecosystem, report.sha256])),
    forgetPlans: () => {
      for (const report of reports.values()) report.contentSha256 = '';
    },
  };
}

/** Walk 2 of design.md: a plan with every scan, so that the verdict is there before anybody approves. */
async function planUpdates(
  { paths, elapsedMs, log }: InventoryDependencies,
  driver: EcosystemDriver,
  updates: readonly InventoryUpdate[],
): Promise<InventoryUpdate[]> {
  const startedMs = elapsedMs();
  const planned: InventoryUpdate[] = [];
  for (const [index, update] of updates.entries()) {
    if (update.plan !== undefined || index >= PLANS_MAX || elapsedMs() - startedMs > PLANNING_MAX_MS) {
      planned.push(update);
      continue;
    }
    const outcome = await driver.plan(paths, {
      name: update.name,
      ...(update.arch === undefined ? {} : { arch: update.arch }),
      toVersion: update.available_version,
    });
    if (!outcome.ok)
      log.warn('an update cannot be planned', { package: update.name, reason: outcome.reason });
    planned.push(outcome.ok ? { ...update, plan: outcome.plan } : update);
  }
  return planned;
}

/** Plans are the first to go when a report is too large: the server can ask for each of them. */
function encodeReport(scan: Scan, scannedAt: string): Uint8Array | null {
  const { complete, packages } = scan;
  const bare = scan.updates.map(({ plan: _, ...update }) => update);
  for (const updates of [scan.updates, bare]) {
    const bytes = new TextEncoder().encode(
      JSON.stringify({ scanned_at: scannedAt, complete, packages, updates }),
    );
    if (bytes.length <= INVENTORY_MAX_BYTES) return bytes;
  }
  return null;
}

function contentDigest({
  complete,
  packages,
  updates,
}: Pick<Scan, 'complete' | 'packages' | 'updates'>): string {
  const bare = updates.map(({ plan: _, ...update }) => update);
  return sha256(new TextEncoder().encode(canonicalJson({ complete, packages, updates: bare })));
}

function loadReport(folder: string, ecosystem: Ecosystem): Report | null {
  const trust = { maxBytes: INVENTORY_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  const read = readTrusted(reportPath(folder, ecosystem), trust);
  if (!read.ok) return null; // it is only a cache of the last scan
  const parsed = parseStrictJson(read.bytes);
  if (!parsed.ok || !Check(InventoryReport, parsed.value)) return null;
  return { bytes: read.bytes, sha256: sha256(read.bytes), contentSha256: contentDigest(parsed.value) };
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
