import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { outputPath } from '../jobs/job-folder.ts';
import { keepTail } from '../platform/keep-tail.ts';
import { createPlainText } from '../platform/plain-text.ts';
import type { OutputListener } from '../platform/run-program.ts';

/** Maximum live output, in bytes; of the rest only the tail is added at the end. */
export const HEAD_MAX_BYTES = 960 * 1024;
/** Maximum tail, in raw bytes; U+FFFD for every byte would triple it. */
const TAIL_MAX_BYTES = 16 * 1024;
/** Largest file of one command. */
export const LIVE_OUTPUT_MAX_BYTES = 1024 * 1024;
/** Number and age of files kept for an agent that has not read them. */
const FILES_MAX = 16;
const FILES_KEPT_MS = 7 * 24 * 3_600_000;

export const CUT_HERE = '\n[the output is cut here; its end follows when the command has ended]\n';
const CREATE_NEW =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_EXCL |
  (constants.O_NOFOLLOW ?? 0);

/** Live output of a package manager, for display. Nothing depends on it. */
export interface LiveOutput {
  write: OutputListener;
  close(): void;
}

/**
 * Creates the file with a job's live output: plain text, bounded, in a folder where only root creates names, so
 * that no link in the spool is ever followed. `readerGid` may read it. A failure ends the live output alone: a
 * full disk must not abort an installation.
 */
export function openLiveOutput(
  state: string,
  commandId: string,
  { readerGid, nowMs }: { readerGid: number; nowMs: number },
): LiveOutput {
  const path = outputPath(state, commandId);
  let fd: number | null = null;
  attempt(() => {
    const made = mkdirSync(dirname(path), { recursive: true });
    if (made !== undefined) chmodSync(dirname(path), 0o755); // the umask may have excluded the agent
    removeOld(dirname(path), nowMs);
    fd = openSync(path, CREATE_NEW, 0o600);
    fchownSync(fd, process.geteuid?.() ?? 0, readerGid);
    fchmodSync(fd, 0o640); // maintainer scripts may print sensitive text
  });

  function attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      end();
    }
  }

  function end(): void {
    if (fd !== null) closeSync(fd);
    fd = null;
  }

  function append(text: string): void {
    const bytes = Buffer.from(text);
    attempt(() => {
      for (let at = 0; fd !== null && at < bytes.length; ) at += writeSync(fd, bytes, at);
    });
  }

  const head = createPlainText();
  const tail = keepTail(TAIL_MAX_BYTES);
  let room = HEAD_MAX_BYTES;
  let isCut = false;

  function appendHead(text: string): void {
    const kept = startOf(text, room);
    room -= Buffer.byteLength(kept);
    append(kept);
    if (kept === text) return;
    isCut = true;
    append(CUT_HERE);
    tail.add(Buffer.from(text.slice(kept.length)));
  }

  return {
    write: (chunk) => {
      if (fd === null) return;
      if (isCut) tail.add(Buffer.from(chunk));
      else appendHead(head.add(chunk));
    },
    close: () => {
      if (!isCut) appendHead(head.end());
      if (isCut) append(endOf(tail.bytes(), tail.dropped()));
      end();
    },
  };
}

/** Opens the output with its first bytes: a job that says nothing leaves no file. */
export function openLater(open: () => LiveOutput): LiveOutput {
  let opened: LiveOutput | null = null;
  return {
    write: (chunk) => {
      opened ??= open();
      opened.write(chunk);
    },
    close: () => opened?.close(),
  };
}

/** The longest prefix that fits, in whole characters. */
function startOf(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, bytes.read);
}

function endOf(bytes: Buffer, dropped: number): string {
  const text = createPlainText();
  const shown = text.add(bytes) + text.end();
  if (dropped === 0) return shown;
  const whole = shown.slice(shown.indexOf('\n') + 1); // the first line is incomplete
  return `[${dropped} bytes are left out]\n${whole}`;
}

function removeOld(folder: string, nowMs: number): void {
  const files = readdirSync(folder)
    .map((name) => ({ path: join(folder, name), stat: lstatSync(join(folder, name)) }))
    .sort((a, b) => b.stat.mtimeMs - a.stat.mtimeMs);
  for (const [index, { path, stat }] of files.entries()) {
    if (index >= FILES_MAX - 1 || nowMs - stat.mtimeMs > FILES_KEPT_MS) rmSync(path, { force: true });
  }
}
