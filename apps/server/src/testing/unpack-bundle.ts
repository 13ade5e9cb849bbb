import type { BundleEntry } from '../evidence/open-bundle.ts';
import { readTarHeader, TAR_BLOCK } from '../evidence/tar-rules.ts';

/** Where each file of a bundle is, as a test takes it apart. */
export function entriesOf(bytes: Buffer): BundleEntry[] {
  const entries: BundleEntry[] = [];
  for (let at = 0; ; ) {
    const file = readTarHeader(bytes.subarray(at, at + TAR_BLOCK));
    if (file === null) return entries;
    entries.push({ ...file, at: at + TAR_BLOCK });
    at += TAR_BLOCK + Math.ceil(file.bytes / TAR_BLOCK) * TAR_BLOCK;
  }
}

export function filesOf(bytes: Buffer): Map<string, Buffer> {
  return new Map(entriesOf(bytes).map(({ name, at, bytes: size }) => [name, bytes.subarray(at, at + size)]));
}
