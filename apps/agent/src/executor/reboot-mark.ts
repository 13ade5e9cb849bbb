import { join } from 'node:path';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { ownUid, readTrusted, writeDurably } from '../platform/file-layer.ts';

const MARK_NAME = 'reboot.json';
const MARK_MAX_BYTES = 4 * 1024;
const Mark = strict({ v: Type.Literal(1), command_id: Uuid });

/** Remembers that systemd was told to end the boot for this command. Throws where it cannot be written. */
export function leaveRebootMark(stateFolder: string, commandId: string): void {
  const mark = { v: 1, command_id: commandId };
  writeDurably(join(stateFolder, MARK_NAME), new TextEncoder().encode(JSON.stringify(mark)), { mode: 0o600 });
}

/** Whether it was for this command. */
export function hasRebootMark(stateFolder: string, commandId: string): boolean {
  const trust = { maxBytes: MARK_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  const read = readTrusted(join(stateFolder, MARK_NAME), trust);
  const parsed = read.ok ? parseStrictJson(read.bytes) : read;
  return parsed.ok && Check(Mark, parsed.value) && parsed.value.command_id === commandId;
}
