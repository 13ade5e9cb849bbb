import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { basename, dirname } from 'node:path';

/**
 * Writes a folder into `out` as tar.gz: the same bytes for the same files, whoever builds it and when. Files belong to root
 * and carry `epochSeconds` as their time; their modes are kept. `gzipLevel` is 1 to 9.
 */
export function writeTarGz(
  folder: string,
  { out, epochSeconds, gzipLevel }: { out: string; epochSeconds: number; gzipLevel: number },
): void {
  const to = openSync(out, 'w', 0o644);
  try {
    const tar = ['--sort=name', '--format=ustar', '--owner=0', '--group=0', '--numeric-owner'];
    execFileSync(
      'tar',
      [
        ...[...tar, `--mtime=@${epochSeconds}`, `--use-compress-program=gzip -n -${gzipLevel}`],
        ...['-C', dirname(folder), '-cf', '-', basename(folder)],
      ],
      { stdio: ['ignore', to, 'inherit'] },
    );
  } finally {
    closeSync(to);
  }
}
