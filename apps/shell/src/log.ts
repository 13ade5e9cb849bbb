/** Data of a log line; never a token, key or secret. */
export type LogFields = Readonly<Record<string, string | number | boolean>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** An attempt of a page that was not allowed. */
  security(message: string, fields?: LogFields): void;
}

/** Writes one line per message, in the form of section 6. */
export function createLog(write: (line: string) => void): Log {
  const line =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      write(`[${level}] [shell] ${message}${Object.entries(fields).map(formatField).join('')}\n`);
  return { info: line('INFO'), warn: line('WARN'), error: line('ERROR'), security: line('SECURITY') };
}

/** Foreign text is quoted, so that it can neither break the line nor imitate a field. */
function formatField([name, value]: [string, string | number | boolean]): string {
  const isPlain = typeof value !== 'string' || /^[\w./:@+-]+$/.test(value);
  return ` ${name}=${isPlain ? value : quote(value)}`;
}

function quote(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escaped);
}
