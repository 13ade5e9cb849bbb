import type { EventRow } from '../events/store.ts';

/** Severity numbers of the OpenTelemetry log data model. */
const SEVERITY_NUMBERS: Readonly<Record<string, number>> = { info: 9, warning: 13, error: 17, critical: 20 };
const UNSPECIFIED = 0;

export interface OtlpSource {
  readonly hostname: string;
  readonly version: string;
}

type Value = { stringValue: string } | { intValue: string };
interface Attribute {
  readonly key: string;
  readonly value: Value;
}

/** The events as an ExportLogsServiceRequest in OTLP/JSON: 64-bit numbers are strings, names are in lowerCamelCase. */
export function logsRequest(events: readonly EventRow[], { hostname, version }: OtlpSource): string {
  const attributes = attributesOf({
    'service.name': 'tidegate',
    'service.version': version,
    'host.name': hostname,
  });
  const scope = { name: 'tidegate.events', version };
  const logRecords = events.map(recordOf);
  return JSON.stringify({
    resourceLogs: [{ resource: { attributes }, scopeLogs: [{ scope, logRecords }] }],
  });
}

function recordOf(event: EventRow) {
  const nanoseconds = `${event.created_at}000000`;
  return {
    timeUnixNano: nanoseconds,
    observedTimeUnixNano: nanoseconds,
    severityNumber: SEVERITY_NUMBERS[event.severity] ?? UNSPECIFIED,
    severityText: event.severity,
    eventName: `tidegate.${event.type}`,
    body: { stringValue: event.content },
    attributes: attributesOf({
      'tidegate.event.id': event.id,
      'tidegate.event.position': event.position,
      'tidegate.event.type': event.type,
      'tidegate.event.kind': event.kind,
      'tidegate.event.component': event.component,
      'tidegate.event.actor': event.actor,
      'tidegate.event.hash': event.hash,
      'tidegate.event.previous_hash': event.previous_hash,
      'tidegate.agent.id': event.agent_id,
    }),
  };
}

function attributesOf(members: Readonly<Record<string, string | number | null>>): Attribute[] {
  return Object.entries(members).flatMap(([key, value]) => {
    if (value === null) return [];
    return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }];
  });
}
