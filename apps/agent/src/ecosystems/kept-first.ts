import type { Ecosystem } from '@tidegate/protocol/scalars';
import { checkFiles, type DownloadedFile } from './downloads.ts';
import type { FetchOutcome } from './ecosystem.ts';
import { copyKept, openKept } from './kept-files.ts';

/**
 * Takes the files of a plan from what is kept here, and the rest by `download`, which is not called if nothing is left.
 * Each file of the directory is checked in the end, and on a failure none stays. A kept file was once named by a signed
 * index of this host.
 */
export async function keptFirst(
  kept: string | null,
  {
    ecosystem,
    files,
    directory,
  }: { ecosystem: Ecosystem; files: readonly DownloadedFile[]; directory: string },
  download: (rest: readonly DownloadedFile[]) => Promise<FetchOutcome>,
): Promise<FetchOutcome> {
  if (files.length === 0) return { ok: true };
  const store = openKept(kept);
  const isKept = ({ name, arch, version, sha256 }: DownloadedFile) =>
    store.find({ ecosystem, name, arch, version, sha256 }) !== null;
  const rest = files.filter((file) => !isKept(file));
  const downloaded: FetchOutcome = rest.length === 0 ? { ok: true } : await download(rest);
  const here = files.filter((file) => !rest.includes(file));
  const wrong = downloaded.ok ? here.find((file) => !copyKept(kept, file, directory)) : undefined;
  const fetched: FetchOutcome =
    wrong === undefined ? downloaded : { ok: false, reason: `artifact_mismatch: ${wrong.name}` };
  const checked = await checkFiles(directory, fetched.ok ? files : []);
  return fetched.ok ? checked : fetched;
}
