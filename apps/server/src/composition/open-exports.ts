import { hostname } from 'node:os';
import { createExporter } from '../event-exports/run-exporter.ts';
import { createOtlpSender } from '../event-exports/send-otlp.ts';
import { createSyslogSender } from '../event-exports/send-syslog.ts';
import { VERSION } from '../version.ts';
import type { Opening } from './parts.ts';

/** Events to a syslog receiver and a collector of OpenTelemetry, each from its own position in the log. */
export function openExports({ platform, exportTargets: { syslog, otlp }, background }: Opening): void {
  const source = { hostname: hostname(), version: VERSION };
  if (syslog) {
    const send = createSyslogSender(syslog, source);
    background.useOutgoing('syslog', createExporter(platform, { name: 'syslog', send }));
  }
  if (otlp) {
    const send = createOtlpSender(otlp, { ...source, now: platform.now });
    background.useOutgoing('otlp', createExporter(platform, { name: 'otlp', send }));
  }
}
