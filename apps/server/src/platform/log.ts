import { pino } from 'pino';

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Log markers of the specification (section 6), verbatim. */
export const MARKERS = {
  machineMismatch: '[server] [middleware] machine_id_mismatch',
  approvalBlocked: '[server] [supply_chain] approval_blocked',
  bulkApprovalBlocked: '[server] [supply_chain] bulk_approval_blocked',
  gateOverridden: '[server] [supply_chain] gate_overridden',
} as const;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** An upstream source failed: `[WARNING]`, with `supply_chain` or `package_age` in the message. */
  upstreamWarning(message: string, fields?: LogFields): void;
  /** `[SECURITY]`, never filtered by the level. */
  security(marker: string, fields?: LogFields): void;
  /** `[WARN] … machine_id_mismatch`, never filtered by the level. */
  machineMismatch(fields: LogFields): void;
}

export interface LogOptions {
  level: 'debug' | 'info' | 'warn' | 'error';
  format: 'text' | 'json';
  write: (line: string) => void;
  now: () => number;
}

const LEVELS = { debug: 20, info: 30, warn: 40, warning: 41, error: 50, security: 70 } as const;
type Level = keyof typeof LEVELS;

/** Static messages with fields: text lines in the specification's form, or JSON with the same text in `msg`. */
export function createLog(options: LogOptions): Log {
  const json = pino(
    {
      customLevels: LEVELS,
      useOnlyCustomLevels: true,
      level: 'debug',
      base: null,
      timestamp: false,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => options.write(line.trimEnd()) },
  );
  function emit(level: Level, message: string, fields: LogFields = {}, filtered = true): void {
    if (filtered && LEVELS[level] < LEVELS[options.level]) return;
    const time = new Date(options.now()).toISOString();
    const text = `[${level.toUpperCase()}] ${message}`;
    if (options.format === 'json') {
      json[level]({ ...fields, time }, text);
      return;
    }
    let line = escapeText(text);
    for (const [key, value] of Object.entries(fields)) {
      if (value !== undefined) line += ` ${key}=${fieldText(value)}`;
    }
    options.write(`${line} time=${time}`);
  }
  return {
    debug: (message, fields) => emit('debug', message, fields),
    info: (message, fields) => emit('info', message, fields),
    warn: (message, fields) => emit('warn', message, fields),
    error: (message, fields) => emit('error', message, fields),
    upstreamWarning: (message, fields) => emit('warning', message, fields),
    security: (marker, fields) => emit('security', marker, fields, false),
    machineMismatch: (fields) => emit('warn', MARKERS.machineMismatch, fields, false),
  };
}

/** Characters that could forge a line, move the cursor or reverse the text. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

function escapeText(text: string): string {
  return text.replace(UNSAFE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function fieldText(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value);
  const text = value.length > 2_000 ? `${value.slice(0, 2_000)}…` : value;
  return /^[\w.:@/+~-]+$/.test(text) ? text : escapeText(JSON.stringify(text));
}
