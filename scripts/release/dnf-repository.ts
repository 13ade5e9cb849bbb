import { execFileSync } from 'node:child_process';
import { readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { packagingTool } from './packaging-tools.ts';
import type { ReleaseSigner } from './release-signer.ts';
import { putText } from './tree.ts';

const INDEX = 'repodata/repomd.xml';

/** Makes a folder with rpm packages a dnf repository. */
export async function writeDnfRepository(
  folder: string,
  { rpms, signer, epochSeconds }: { rpms: readonly string[]; signer: ReleaseSigner; epochSeconds: number },
): Promise<void> {
  // The times of the files are in the metadata.
  for (const name of rpms) utimesSync(join(folder, name), epochSeconds, epochSeconds);
  const always = ['--no-database', '--general-compress-type=gz', '--checksum=sha256', '--workers=1'];
  const dated = [`--revision=${epochSeconds}`, '--set-timestamp-to-revision'];
  execFileSync(packagingTool('createrepo_c'), ['--quiet', ...always, ...dated, folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const name = `${INDEX}.asc`;
  putText(folder, name, await signer.signatureOf(name, 'detached', readFileSync(join(folder, INDEX))));
}
