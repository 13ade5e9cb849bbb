import { join } from 'node:path';
import {
  INVENTORY_MAX_PARTS,
  INVENTORY_PARTS_MAX_BYTES,
  InventoryReport,
  type InventoryUpdate,
} from '@tidegate/protocol/agent-api';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { type Ecosystem, PackageName, PackageVersion } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Check } from 'typebox/value';
import type { EcosystemDriver, HostPaths, Scan } from '../ecosystems/ecosystem.ts';
import { timestamp } from '../platform/clock.ts';
import { errorCode, ownUid, readTrusted, writeDurably } from '../platform/file-layer.ts';
import type { Log } from '../platform/log.ts';
import { type EncodedReport, encodedOf, encodeReport, sha256 } from './split-report.ts';

/** All parts of a report with the line ends between them. */
const FILE_MAX_BYTES = INVENTORY_PARTS_MAX_BYTES + INVENTORY_MAX_PARTS;

export interface InventoryDependencies {
  folder: string;
  drivers: readonly EcosystemDriver[];
  paths: HostPaths;
  /** The ecosystems that the configuration allows; null for all. */
  allowed: readonly Ecosystem[] | null;
  nowMs: () => number;
  log: Log;
}

/** The latest report of each ecosystem as the bytes that are (or were) sent, in parts where one request is too small. */
export interface Inventory {
  /** Scans; an unchanged result keeps the bytes of the last report, and so its digest. */
  scan(wanted: readonly Ecosystem[] | null): Promise<{ scanned: Ecosystem[]; problems: string[] }>;
  /** The updates in the latest report. */
  updates(ecosystem: Ecosystem): readonly InventoryUpdate[];
  /** The rows of the latest report about these packages: installed, and as updates. */
  rowsOf(ecosystem: Ecosystem, names: ReadonlySet<string>): readonly unknown[];
  report(ecosystem: Ecosystem): EncodedReport | null;
  /** The digest of each report, as the check-in reports it. */
  digests(): Partial<Record<Ecosystem, string>>;
}

interface Report {
  encoded: EncodedReport;
  /** Digest of the package manager's data, without the time. */
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
    const encoded = encodeReport(content);
    if (encoded === null) return false;
    reports.set(ecosystem, { encoded, contentSha256: contentDigest(content), content });
    saveReport(folder, ecosystem, encoded, log);
    return true;
  }

  async function scanOne(driver: EcosystemDriver): Promise<string | null> {
    const { reason, ...found } = await driver.scan(dependencies.paths);
    const scan = withoutHiddenNames(found);
    const left = found.packages.length - scan.packages.length + found.updates.length - scan.updates.length;
    if (left > 0)
      log.warn('packages with hidden characters in their names are left out', {
        ecosystem: driver.ecosystem,
        left,
      });
    if (scan.condition?.trouble)
      log.warn('nothing can be installed until the host is mended', {
        ecosystem: driver.ecosystem,
        ...scan.condition.trouble,
      });
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
        // Removals, such as of the last environment, must be reported too.
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
    rowsOf: (ecosystem, names) => {
      const { packages = [], updates = [] } = reports.get(ecosystem)?.content ?? {};
      return [...packages, ...updates].filter(({ name }) => names.has(name));
    },
    report: (ecosystem) => reports.get(ecosystem)?.encoded ?? null,
    digests: () =>
      Object.fromEntries([...reports].map(([ecosystem, { encoded }]) => [ecosystem, encoded.sha256])),
  };
}

/** The server refuses the whole report for one such name; one project folder must not block a host's inventory. */
function withoutHiddenNames({ packages, updates, ...scan }: Omit<Scan, 'reason'>): Omit<Scan, 'reason'> {
  const isShown = (name: string, versions: readonly string[]) =>
    Check(PackageName, name) && versions.every((version) => Check(PackageVersion, version));
  return {
    ...scan,
    packages: packages.filter(({ name, version }) => isShown(name, [version])),
    updates: updates.filter((one) => isShown(one.name, [one.current_version, one.available_version])),
  };
}

function contentDigest({
  complete,
  packages,
  updates,
  condition,
}: Pick<Scan, 'complete' | 'packages' | 'updates' | 'condition'>): string {
  return sha256(canonicalJson({ complete, packages, updates, ...(condition && { condition }) }));
}

/** JSON on one line holds no line end: each body is a line of the file. */
const LINE_END = 0x0a;

function loadReport(folder: string, ecosystem: Ecosystem): Report | null {
  const trust = { maxBytes: FILE_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  const read = readTrusted(reportPath(folder, ecosystem), trust);
  if (!read.ok) return null; // it is only a cache of the last scan
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

function saveReport(folder: string, ecosystem: Ecosystem, { bodies }: EncodedReport, log: Log): void {
  const lines = bodies.flatMap((body, index) => (index === 0 ? [body] : [Uint8Array.of(LINE_END), body]));
  try {
    writeDurably(reportPath(folder, ecosystem), Buffer.concat(lines), { mode: 0o600 });
  } catch (error) {
    // A cache only: without it the next start sends the report once more.
    log.warn('the inventory cannot be stored', { ecosystem, reason: errorCode(error) });
  }
}

function reportPath(folder: string, ecosystem: Ecosystem): string {
  return join(folder, `inventory-${ecosystem}.json`);
}
