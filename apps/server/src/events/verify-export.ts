import { parseStrictJson } from '@tidegate/protocol/strict-json';
import type { Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { ExportCheckpoint, ExportEnd, ExportEvent, ExportHeader } from './export-lines.ts';
import { type CheckpointKeys, openCheckpoint } from './open-checkpoint.ts';
import {
  type ChainFault,
  type ChainStart,
  type ChainVerifier,
  createChainVerifier,
  type HostHead,
  type Pin,
} from './verify-chain.ts';
import type { Walked } from './verify-database.ts';

const Header = Compile(ExportHeader);
const Checkpoint = Compile(ExportCheckpoint);
const Event = Compile(ExportEvent);
const End = Compile(ExportEnd);
/** Rows between two progress reports. */
const PROGRESS_ROWS = 10_000;

export interface ExportOptions {
  trusted: CheckpointKeys;
  heads: readonly HostHead[];
  onProgress?: (done: number) => void;
}

/** Verifies an export, line by line, with only the public keys; earlier events are not in it. */
export async function verifyExport(lines: AsyncIterable<string>, options: ExportOptions): Promise<Walked> {
  const { trusted, heads, onProgress } = options;
  const pins: Pin[] = [];
  let start: ChainStart = { position: 0, hash: null };
  let verifier: ChainVerifier | null = null;
  let number = 0;
  let comparable: readonly HostHead[] = [];
  let ended: Walked | null = null;

  function walked(fault: ChainFault | null): Walked {
    const last = verifier?.last() ?? start;
    return {
      fault,
      start,
      last,
      rows: last.position - start.position,
      checkpoints: pins.length,
      pinned: verifier?.pinned() ?? null,
      restoredAt: verifier?.restoredAt() ?? null,
      removed: null,
      warnings: [],
    };
  }
  function unreadable(detail: string): Walked {
    const position = (verifier?.last() ?? start).position + 1;
    return walked({ kind: 'unreadable', position, id: null, detail: `line ${number} of the file ${detail}` });
  }
  function begin(): ChainVerifier {
    const sorted = [...pins, ...comparable].toSorted((a, b) => a.position - b.position);
    return createChainVerifier({ start, pins: sorted });
  }

  for await (const line of lines) {
    number++;
    // Nothing proves it, and who reads the file would take it for events.
    if (ended !== null) return unreadable('follows its end');
    const parsed = parseStrictJson(line);
    if (!parsed.ok) return unreadable(parsed.reason);
    const { value } = parsed;
    if (number === 1) {
      if (!Header.Check(value)) return unreadable('is not the beginning of an export');
      start = value.start;
      comparable = heads.filter((head) => isComparable(head, value));
    } else if (verifier === null && Checkpoint.Check(value)) {
      const opened = openCheckpoint(value.checkpoint, { trusted, place: 'in the file' });
      if (!opened.ok) return unreadable(`is not believed: ${opened.detail}`);
      pins.push(opened.pin);
    } else if (Event.Check(value)) {
      verifier ??= begin();
      const fault = verifier.take(value.event);
      if (fault) return walked(fault);
      if (number % PROGRESS_ROWS === 0) onProgress?.(verifier.last().position - start.position);
    } else if (End.Check(value)) {
      verifier ??= begin();
      ended = walked(verifier.end(value.end));
      if (ended.fault !== null) return ended;
    } else {
      return unreadable('is no event');
    }
  }
  if (ended !== null) return ended;
  number++;
  return unreadable('is missing: the file was cut off');
}

/** An export proves nothing about later events, or about those it was told to omit. */
function isComparable({ seenAtMs }: HostHead, header: Static<typeof ExportHeader>): boolean {
  return !header.partial && (seenAtMs === null || seenAtMs <= Date.parse(header.exported_at));
}
