import { createHash } from 'node:crypto';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { RESTART_REPORT_MAX_BYTES, type RestartReport } from '@tidegate/protocol/restarts';

/** Evidence that every report has room for, also beside the output of an installation. */
const SHORT = { services: 16, files: 2 };

/** Names fewer services and files; what is left out is counted. The verdicts stay. */
export function shorten(report: RestartReport, most = SHORT): RestartReport {
  const { stale, more_services } = report.services;
  const kept = stale.slice(0, most.services).map((service) => ({
    ...service,
    files: service.files.slice(0, most.files),
    more_files: service.more_files + Math.max(0, service.files.length - most.files),
  }));
  const services = {
    ...report.services,
    stale: kept,
    more_services: more_services + stale.length - kept.length,
  };
  return { ...report, services };
}

/** The report as the server takes it: hostile names may take four bytes a character. */
export function fit(report: RestartReport): RestartReport {
  return Buffer.byteLength(JSON.stringify(report)) <= RESTART_REPORT_MAX_BYTES ? report : shorten(report);
}

/** Equal for reports that say the same: times, reasons and numbers of processes change with every look. */
export function digestOf({ boot_id, services, reboot }: RestartReport): string {
  const stale = services.stale.map(({ processes: _, ...service }) => service);
  const said = {
    boot_id,
    services: { ...services, stale, reason: null },
    reboot: { ...reboot, reason: null },
  };
  return createHash('sha256').update(canonicalJson(said)).digest('hex');
}
