import { join } from 'node:path';
import type { InventoryReport, InventoryUpdate } from '@tidegate/protocol/agent-api';
import { type Ecosystem, PackageName, PackageVersion } from '@tidegate/protocol/scalars';
import { LISTS_AGE_MAX_SECONDS, type ListAges } from '@tidegate/protocol/timeliness';
import { Check } from 'typebox/value';
import type { EcosystemDriver, HostPaths, Scan } from '../ecosystems/ecosystem.ts';
import { timestamp } from '../platform/clock.ts';
import type { Failure } from '../platform/failures.ts';
import type { Log } from '../platform/log.ts';
import { openDeltas } from './deltas.ts';
import { contentDigest, loadReport, type Report, saveReport } from './report-file.ts';
import { type EncodedReport, encodeReport } from './split-report.ts';

export interface InventoryDependencies {
  folder: string;
  drivers: readonly EcosystemDriver[];
  paths: HostPaths;
  /** The ecosystems that the configuration allows; null for all. */
  allowed: readonly Ecosystem[] | null;
  nowMs: () => number;
  /** The clock of this host's files. */
  localMs: () => number;
  random: () => number;
  log: Log;
}

/** The latest report of each ecosystem as the bytes that are (or were) sent, in parts where one request is too small. */
export interface Inventory {
  /** Scans; an unchanged result keeps the bytes of the last report, and so its digest. */
  scan(wanted: readonly Ecosystem[] | null): Promise<{ scanned: Ecosystem[]; problems: string[] }>;
  /** The age of the lists that the last scan of each ecosystem went by, where it is known; null before the first scan. */
  listAges(): ListAges | null;
  /** The updates in the latest report. */
  updates(ecosystem: Ecosystem): readonly InventoryUpdate[];
  /** The rows of the latest report about these packages: installed, and as updates. */
  rowsOf(ecosystem: Ecosystem, names: ReadonlySet<string>): readonly unknown[];
  report(ecosystem: Ecosystem): EncodedReport | null;
  /** What leads to it from the last report that the server has; null: it goes out whole. */
  delta(ecosystem: Ecosystem, options: { isAskedFor: boolean }): Uint8Array | null;
  /** A delta was not accepted: the report goes out whole. */
  deltaFailed(ecosystem: Ecosystem, failure: Failure): void;
  /** The server has the report with this digest, be it the newest or not. */
  acknowledged(ecosystem: Ecosystem, sha256: string): void;
  /** The digest of each report, as the check-in reports it. */
  digests(): Partial<Record<Ecosystem, string>>;
}

/** Opens the inventory of a folder, with the reports of the last run where they are still there. */
export function openInventory(dependencies: InventoryDependencies): Inventory {
  const { folder, drivers, allowed, log } = dependencies;
  const reports = new Map<Ecosystem, Report>();
  const deltas = openDeltas(dependencies);
  const ages = new Map<Ecosystem, number | null>();
  for (const { ecosystem } of drivers) {
    const report = loadReport(reportPath(folder, ecosystem));
    if (report !== null) reports.set(ecosystem, report);
  }

  function keep(ecosystem: Ecosystem, content: InventoryReport): boolean {
    const encoded = encodeReport(content);
    if (encoded === null) return false;
    const before = reports.get(ecosystem);
    if (before !== undefined) deltas.replaced(ecosystem, before);
    reports.set(ecosystem, { encoded, contentSha256: contentDigest(content), content });
    saveReport(reportPath(folder, ecosystem), encoded, log);
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
        const { ageMs, staleness } = await driver.examineLists(dependencies.paths, dependencies.localMs());
        ages.set(ecosystem, ageMs);
        if (staleness !== null) log.warn('updates may be missing', { ecosystem, reason: staleness });
        scanned.push(ecosystem);
        if (problem !== null) problems.push(`${ecosystem}: ${problem}`);
      }
      return { scanned, problems };
    },
    listAges: () => (ages.size === 0 ? null : agesOf(ages)),
    updates: (ecosystem) => reports.get(ecosystem)?.content.updates ?? [],
    rowsOf: (ecosystem, names) => {
      const { packages = [], updates = [] } = reports.get(ecosystem)?.content ?? {};
      return [...packages, ...updates].filter(({ name }) => names.has(name));
    },
    report: (ecosystem) => reports.get(ecosystem)?.encoded ?? null,
    delta: (ecosystem, options) => {
      const report = reports.get(ecosystem);
      return report === undefined ? null : deltas.to(ecosystem, report, options);
    },
    deltaFailed: deltas.failed,
    acknowledged: deltas.acknowledged,
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

function agesOf(ages: ReadonlyMap<Ecosystem, number | null>): ListAges {
  const known = [...ages].flatMap(([ecosystem, ageMs]) => (ageMs === null ? [] : [{ ecosystem, ageMs }]));
  return Object.fromEntries(
    known.map(({ ecosystem, ageMs }) => [
      ecosystem,
      Math.min(Math.floor(ageMs / 1_000), LISTS_AGE_MAX_SECONDS),
    ]),
  );
}

function reportPath(folder: string, ecosystem: Ecosystem): string {
  return join(folder, `inventory-${ecosystem}.json`);
}
