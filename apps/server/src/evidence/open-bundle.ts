import { FILE_MAX_BYTES, FILES_MAX, MANIFEST_FILE_MAX_BYTES } from './bundle-form.ts';
import { paddingOf, readTarHeader, TAR_BLOCK } from './tar-rules.ts';
import { FaultyBundle } from './verify-fault.ts';

/** Reads so many bytes at a place of the archive; fewer at its end. */
export interface ArchiveBytes {
  readonly size: number;
  read(at: number, length: number): Buffer;
}

export interface BundleEntry {
  readonly name: string;
  readonly bytes: number;
  /** Of its first byte. */
  readonly at: number;
}

const MANIFEST = 'manifest.json';

/**
 * The files of an archive, in order, without their content. Every byte that is not content is checked: a header has one
 * form, filling is zeros, no name comes twice, and nothing follows the end. Nothing is compressed, so nothing can grow.
 */
export function listBundle(archive: ArchiveBytes): BundleEntry[] {
  const entries: BundleEntry[] = [];
  const names = new Set<string>();
  let at = 0;
  for (;;) {
    const header = archive.read(at, TAR_BLOCK);
    if (isZeros(header) && at + 2 * TAR_BLOCK === archive.size) break;
    const place = `the archive at byte ${at}`;
    const file = readTarHeader(header);
    if (file === null) throw new FaultyBundle(place, 'here is no header of a file as a bundle has it');
    const { name, bytes } = file;
    const most = name === MANIFEST ? MANIFEST_FILE_MAX_BYTES : FILE_MAX_BYTES;
    if (bytes > most) throw new FaultyBundle(name, `has ${bytes} bytes; at most ${most} are allowed`);
    if (names.has(name)) throw new FaultyBundle(name, 'is in the archive twice');
    if (entries.length > FILES_MAX) throw new FaultyBundle(place, `more than ${FILES_MAX} files follow`);
    const end = at + TAR_BLOCK + bytes;
    if (end + paddingOf(bytes) > archive.size) throw new FaultyBundle(name, 'the archive ends within it');
    if (!isZeros(archive.read(end, paddingOf(bytes))))
      throw new FaultyBundle(name, 'the filling behind it is not zeros');
    names.add(name);
    entries.push({ name, bytes, at: at + TAR_BLOCK });
    at = end + paddingOf(bytes);
  }
  if (!isZeros(archive.read(at, 2 * TAR_BLOCK)))
    throw new FaultyBundle(`the archive at byte ${at}`, 'its end is not two blocks of zeros');
  if (entries.at(-1)?.name !== MANIFEST) throw new FaultyBundle(MANIFEST, 'is not the last file');
  return entries;
}

function isZeros(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
