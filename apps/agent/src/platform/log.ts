/** Data of a log line; never a token, key or secret. */
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Writes one line per message, in the form of section 6. The journal of the system adds the time. */
export function createLog(write: (line: string) => void): Log {
  const line = (level: string) => (message: string, fields?: LogFields) =>
    write(`[${level}] [agent] ${message}${formatFields(fields)}\n`);
  return { info: line('INFO'), warn: line('WARN'), error: line('ERROR') };
}

function formatFields(fields: LogFields = {}): string {
  return Object.entries(fields)
    .map(([key, value]) => ` ${key}=${formatValue(value)}`)
    .join('');
}

/** Quotes untrusted text, so that it can neither break the line nor imitate a field. */
function formatValue(value: string | number | boolean | null): string {
  return typeof value === 'string' && !/^[\w./:@+-]+$/.test(value) ? quote(value) : String(value);
}

function quote(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escaped);
}
