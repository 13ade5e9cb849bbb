import { join } from 'node:path';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { ownUid, writeDurably } from '../platform/file-layer.ts';
import { readTrustedJson } from '../platform/trusted-json.ts';

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
  return readTrustedJson(join(stateFolder, MARK_NAME), Mark, trust)?.command_id === commandId;
}
