import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { createOutgoing } from '../../../platform/outgoing.ts';
import { type ByteOutcome, streamBytes } from '../../../platform/stream-bytes.ts';
import { callUpstream, type UpstreamAnswer } from '../../../platform/upstream.ts';

/** Bounds of the export's responses, in bytes and milliseconds. */
export interface ExportLimits {
  readonly archiveBytes: number;
  readonly archiveMs: number;
  /** Longest pause within a response. */
  readonly silenceMs: number;
  readonly listBytes: number;
  readonly listMs: number;
  readonly recordBytes: number;
  readonly recordMs: number;
}

export const EXPORT_LIMITS: ExportLimits = {
  archiveBytes: 4 * 1024 * 1024 * 1024,
  archiveMs: 2 * 60 * 60_000,
  silenceMs: 60_000,
  listBytes: 256 * 1024 * 1024,
  listMs: 10 * 60_000,
  recordBytes: 32 * 1024 * 1024,
  recordMs: 30_000,
};
/** Longest line in the list of changes. */
const LINE_MAX_CHARS = 1_024;

export interface Archive {
  readonly url: string;
  readonly sha256: string;
  readonly bytes: number;
}

export interface Change {
  readonly id: string;
  readonly modified: string;
  readonly modifiedMs: number;
}

export type Fetched<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly cause: string };

export interface ExportClient {
  readonly baseUrl: string;
  /** Downloads the whole archive of an ecosystem into a new file. */
  fetchArchive(
    base: string,
    to: { path: string; onProgress: (at: { bytes: number; total: number | null }) => Promise<void> },
  ): Promise<Fetched<Archive>>;
  /** Changes since `sinceMs`, inclusive, newest first; `tooMany` if there are more than `most`. */
  listChanges(
    base: string,
    args: { sinceMs: number; most: number },
  ): Promise<Fetched<{ changes: Change[]; tooMany: boolean }>>;
  fetchRecord(base: string, id: string): Promise<UpstreamAnswer>;
  close(): Promise<void>;
}

export interface ExportClientOptions {
  readonly baseUrl: string;
  readonly limits?: Partial<ExportLimits>;
  readonly sleep?: (ms: number) => Promise<void>;
}

/** Client of OSV's exports: one folder per ecosystem. */
export function createExportClient(options: ExportClientOptions): ExportClient {
  const limits = { ...EXPORT_LIMITS, ...options.limits };
  const baseUrl = options.baseUrl.replace(/\/+$/, '');
  const closing = new AbortController();
  const dispatcher: Dispatcher = createOutgoing({ connections: 8 });
  const shared = { dispatcher, signal: closing.signal, silenceMs: limits.silenceMs };
  const urlOf = (base: string, file: string) =>
    `${baseUrl}/${encodeURIComponent(base)}/${encodeURIComponent(file)}`;

  return {
    baseUrl,
    async fetchArchive(base, { path, onProgress }) {
      const url = urlOf(base, 'all.zip');
      const hash = createHash('sha256');
      const file = await open(path, 'wx', 0o600);
      try {
        const { outcome, bytes } = await writeTo(file, hash, onProgress, (sink) =>
          streamBytes({
            ...shared,
            ...sink,
            url,
            accept: 'application/zip',
            maxBytes: limits.archiveBytes,
            timeoutMs: limits.archiveMs,
          }),
        );
        if (outcome.kind === 'read') return { ok: true, value: { url, sha256: hash.digest('hex'), bytes } };
        return { ok: false, cause: causeOf(outcome) };
      } finally {
        await file.close();
      }
    },

    async listChanges(base, { sinceMs, most }) {
      const changes: Change[] = [];
      const lines = createLineReader();
      let fault: string | null = null;
      let tooMany = false;
      const outcome = await streamBytes({
        ...shared,
        url: urlOf(base, 'modified_id.csv'),
        accept: 'text/csv',
        maxBytes: limits.listBytes,
        timeoutMs: limits.listMs,
        take(piece) {
          for (const line of lines.next(piece)) {
            const change = changeOf(line);
            if (!change) fault = 'not a list of changes';
            else if (change.modifiedMs < sinceMs) return false;
            else if (changes.length >= most) tooMany = true;
            else changes.push(change);
            if (fault !== null || tooMany) return false;
          }
          return true;
        },
      });
      const rest = outcome.kind === 'read' ? lines.rest() : '';
      const last = rest === '' ? null : changeOf(rest);
      if (rest !== '' && !last) fault = 'not a list of changes';
      if (last && last.modifiedMs >= sinceMs) changes.push(last);
      if (fault !== null) return { ok: false, cause: fault };
      if (outcome.kind === 'read' || outcome.kind === 'stopped')
        return { ok: true, value: { changes, tooMany } };
      return { ok: false, cause: causeOf(outcome) };
    },

    fetchRecord: (base, id) =>
      callUpstream({
        dispatcher,
        signal: closing.signal,
        sleep: options.sleep ?? pause(closing.signal),
        url: urlOf(base, `${id}.json`),
        maxBytes: limits.recordBytes,
        timeoutMs: limits.recordMs,
      }),

    async close() {
      closing.abort();
      await dispatcher.destroy();
    },
  };
}

type Sink = {
  onLength: (bytes: number | null) => void;
  take: (piece: Buffer) => Promise<boolean>;
};

async function writeTo(
  file: FileHandle,
  hash: Hash,
  onProgress: (at: { bytes: number; total: number | null }) => Promise<void>,
  stream: (sink: Sink) => Promise<ByteOutcome>,
): Promise<{ outcome: ByteOutcome; bytes: number }> {
  let bytes = 0;
  let total: number | null = null;
  const outcome = await stream({
    onLength: (length) => {
      total = length;
    },
    async take(piece) {
      hash.update(piece);
      await file.writeFile(piece);
      bytes += piece.length;
      await onProgress({ bytes, total });
      return true;
    },
  });
  return { outcome, bytes };
}

/** Splits a list into lines; an unterminated last line is kept apart as the rest. */
function createLineReader(): { next(piece: Buffer): string[]; rest(): string } {
  let open = '';
  return {
    next(piece) {
      const lines = (open + piece.toString('latin1')).split('\n');
      open = lines.pop() ?? '';
      // An overlong line is passed on, and rejected when it is parsed.
      if (open.length > LINE_MAX_CHARS) return [...lines, open];
      return lines;
    },
    rest: () => open,
  };
}

/** `<time>,<id>`; ids are ASCII. */
function changeOf(line: string): Change | null {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  const comma = text.indexOf(',');
  if (comma < 0 || text.length > LINE_MAX_CHARS) return null;
  const modified = text.slice(0, comma);
  const id = text.slice(comma + 1);
  const modifiedMs = Date.parse(modified);
  if (Number.isNaN(modifiedMs) || !/^\d{4}-\d{2}-\d{2}T/.test(modified)) return null;
  return /^[\x21-\x2b\x2d-\x7e]{1,256}$/.test(id) && !id.includes('/') ? { id, modified, modifiedMs } : null;
}

function causeOf(outcome: ByteOutcome): string {
  return 'cause' in outcome ? outcome.cause : outcome.kind;
}

function pause(signal: AbortSignal): (ms: number) => Promise<void> {
  return (ms) => wait(ms, undefined, { signal }).catch(() => undefined);
}
