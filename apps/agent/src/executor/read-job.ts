import { lstatSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { READY_MARK } from '../jobs/job-folder.ts';
import { errorCode, type ReadOutcome, readTrusted } from '../platform/file-layer.ts';
import { holdFolder } from '../platform/held-folder.ts';
import { type JobEnd, refused } from './job-result.ts';

/**
 * Opens a job folder, which others can write, for one use. `use` gets it by descriptor, so that it cannot be
 * replaced while it is read; its mark is removed afterwards.
 */
export async function withJobFolder(
  path: string,
  use: (folder: string) => Promise<JobEnd | null>,
): Promise<JobEnd | null> {
  const held = holdFolder(path);
  if (!held.ok) return refused('job_unreadable', `the job folder cannot be opened (${held.code})`);
  const folder = held.folder.here;
  try {
    // The spool's user could put a folder there, and the job would end without a result.
    if (!isMarkSound(folder)) return refused('job_unreadable', 'the mark of the job is not a file');
    const end = await use(folder);
    removeMark(folder);
    return end;
  } finally {
    held.folder.close();
  }
}

/** A document of the job. Any user may have written it: unsigned content is refused. */
export function readJobFile(folder: string, name: string, maxBytes: number): ReadOutcome {
  return readTrusted(join(folder, name), { maxBytes, ownerUid: null, forbiddenMode: 0 });
}

/** An optional document of the job: null when it cannot be read. */
export function readJobJson(folder: string, name: string, maxBytes: number): unknown {
  const read = readJobFile(folder, name, maxBytes);
  const parsed = read.ok ? parseStrictJson(read.bytes) : null;
  return parsed?.ok ? parsed.value : null;
}

function isMarkSound(folder: string): boolean {
  return lstatSync(join(folder, READY_MARK), { throwIfNoEntry: false })?.isFile() ?? true;
}

/** The path unit watches the mark: left in place, it would restart the executor forever. */
function removeMark(folder: string): void {
  try {
    unlinkSync(join(folder, READY_MARK));
  } catch (error) {
    // Gone, or no file any more since it was looked at: the result is what counts.
    if (!['ENOENT', 'EISDIR', 'EPERM'].includes(errorCode(error))) throw error;
  }
}
