import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type CheckpointKeys, type OpenedCheckpoint, openCheckpoint } from './open-checkpoint.ts';
import type { CheckpointRow } from './store.ts';
import type { ChainFault, Pin } from './verify-chain.ts';

/** Newest checkpoints of one place that a walk compares; they vouch for all rows before them. */
export const PINS_MAX = 10_000;

export interface Pins {
  pins: Pin[];
  /** Untrusted checkpoints; in the database each is a fault. */
  faults: ChainFault[];
  /** Untrusted lines of the file: a power cut may have left one incomplete. */
  warnings: string[];
}

/** Every trusted checkpoint, sorted by position, from the table, the file and the heads of hosts. */
export function collectPins(
  trusted: CheckpointKeys,
  from: { rows: readonly CheckpointRow[]; lines: readonly string[]; heads: readonly Pin[] },
): Pins {
  const pins = [...from.heads];
  const faults: ChainFault[] = [];
  for (const row of from.rows) {
    const opened = openText(row.envelope, { trusted, place: 'in the database' });
    const fault = faultOf(opened, row, 'checkpoint');
    if (fault !== null) faults.push(fault);
    else if (opened.ok) pins.push(opened.pin);
  }
  const warnings: string[] = [];
  for (const line of from.lines.slice(-PINS_MAX)) {
    const opened = openText(line, { trusted, place: 'in the file beside the database' });
    if (opened.ok) pins.push(opened.pin);
    else warnings.push(opened.detail);
  }
  return { pins: pins.toSorted((a, b) => a.position - b.position), faults, warnings };
}

export function openText(
  text: string,
  options: { trusted: CheckpointKeys; place: string },
): OpenedCheckpoint {
  const parsed = parseStrictJson(text);
  if (!parsed.ok) return { ok: false, detail: `a checkpoint ${options.place} is not JSON` };
  return openCheckpoint(parsed.value, options);
}

/** The columns of a row must equal its signed document. */
export function faultOf(
  opened: OpenedCheckpoint,
  row: { position: number; hash: string },
  what: string,
): ChainFault | null {
  const { position } = row;
  if (!opened.ok) return { kind: 'bad_checkpoint', position, id: null, detail: opened.detail };
  if (opened.pin.position === position && opened.pin.hash === row.hash) return null;
  const detail = `the row of the ${what} says something else than what was signed`;
  return { kind: 'bad_checkpoint', position, id: null, detail };
}
