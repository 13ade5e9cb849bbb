import type { EventRow } from '../events/store.ts';

/** Facility "log audit" of RFC 5424. */
const FACILITY = 13;
const SYSLOG_SEVERITIES: Readonly<Record<string, number>> = { critical: 2, error: 3, warning: 4, info: 6 };
const NOTICE = 5;
/** Receivers should take so many bytes (RFC 5425, section 4.3.1); longer messages are cut. */
export const MESSAGE_MAX_BYTES = 8_192;
/** Most bytes of one value of structured data; what is longer is outside this program's own forms. */
const VALUE_MAX_CHARS = 256;
const HOSTNAME_MAX_CHARS = 255;
const MSGID_MAX_CHARS = 32;
/** Reserved for documentation (RFC 5612): the project has no enterprise number of its own. */
const ENTERPRISE = '32473';

export interface SyslogSource {
  readonly hostname: string;
  readonly version: string;
}

/**
 * An event as a message of RFC 5424: who, what and where as structured data, the content as ASCII JSON. Position and hash
 * let the receiver see a gap, and find in the log what a long message lacks.
 */
export function syslogMessage(event: EventRow, { hostname, version }: SyslogSource): string {
  const severity = SYSLOG_SEVERITIES[event.severity] ?? NOTICE;
  const head = [
    `<${FACILITY * 8 + severity}>1`,
    new Date(event.created_at).toISOString(),
    printable(hostname, HOSTNAME_MAX_CHARS),
    'tidegate',
    '-',
    printable(event.type, MSGID_MAX_CHARS),
  ].join(' ');
  const members: readonly (readonly [string, string | number | null])[] = [
    ['id', event.id],
    ['position', event.position],
    ['type', event.type],
    ['kind', event.kind],
    ['severity', event.severity],
    ['component', event.component],
    ['agent', event.agent_id],
    ['actor', event.actor],
    ['hash', event.hash],
    ['previousHash', event.previous_hash],
  ];
  const json = asciiJson(event.content);
  const origin = element('origin', [
    ['software', 'tidegate'],
    ['swVersion', version],
  ]);
  const start = (isCut: boolean) =>
    `${head} ${element(`event@${ENTERPRISE}`, isCut ? [...members, ['cut', 'true']] : members)}${origin} `;
  const whole = `${start(false)}${json}`;
  if (Buffer.byteLength(whole) <= MESSAGE_MAX_BYTES) return whole;
  const before = start(true);
  return `${before}${json.slice(0, Math.max(0, MESSAGE_MAX_BYTES - Buffer.byteLength(before)))}`;
}

/** Octet counting (RFC 5425, section 4.3). */
export function framed(message: string): string {
  return `${Buffer.byteLength(message)} ${message}`;
}

function element(id: string, members: readonly (readonly [string, string | number | null])[]): string {
  const given = members.flatMap(([name, value]) =>
    value === null ? [] : [` ${name}="${escaped(String(value))}"`],
  );
  return `[${id}${given.join('')}]`;
}

/** RFC 5424, section 6.3.3; control characters, which may end a line of a receiver's file, become spaces. */
function escaped(value: string): string {
  return value
    .slice(0, VALUE_MAX_CHARS)
    .toWellFormed()
    .replace(/\p{Cc}/gu, ' ')
    .replace(/["\\\]]/g, '\\$&');
}

function printable(text: string, max: number): string {
  return text.replace(/[^\x21-\x7e]/g, '').slice(0, max) || '-';
}

/** The same JSON in ASCII, which needs no byte order mark. */
function asciiJson(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
