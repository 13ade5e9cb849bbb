import { execFileSync } from 'node:child_process';
import { cachedFolder } from './cached-folder.ts';

/** A folder with the packages of a requirements file, which names their hashes; installed by pip when it is absent. */
export function pipFolder(folder: string, requirements: string): string {
  return cachedFolder(folder, (work) => {
    const quiet = ['--quiet', '--disable-pip-version-check', '--root-user-action=ignore'];
    const exactly = ['--require-hashes', '--no-deps', '--only-binary', ':all:', '--no-compile'];
    execFileSync(
      '/usr/bin/python3',
      ['-m', 'pip', 'install', ...quiet, ...exactly, '--target', work, '--requirement', requirements],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    return work;
  });
}
