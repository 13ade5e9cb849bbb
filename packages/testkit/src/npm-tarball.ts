import { gzipSync } from 'node:zlib';
import type { NpmPackage } from './npm-packages.ts';

const BLOCK_BYTES = 512;
/** 26 October 1985, as npm dates every file that it packs. */
const MTIME_SECONDS = 499_162_500;

/** The package.json of a package, as its author wrote it. */
export function manifestOf(pkg: NpmPackage): Record<string, unknown> {
  const { saysInstead: _says, deprecated: _deprecated, bundled, ...members } = pkg;
  const tops = (bundled ?? [])
    .map(({ name, at = name }) => at)
    .filter((at) => !at.includes('/node_modules/'));
  const own = bundled === undefined ? {} : { bundleDependencies: tops };
  return { ...members, ...own, bin: { [pkg.name.replace(/^.*\//, '')]: 'cli.js' } };
}

/** Packs a package as npm would: the same package gives the same bytes. */
export function packTarball(pkg: NpmPackage): Buffer {
  const files = [
    ['package.json', `${JSON.stringify(manifestOf(pkg), null, 2)}\n`],
    ['cli.js', `#!/usr/bin/env node\nconsole.log(${JSON.stringify(`${pkg.name} ${pkg.version}`)});\n`],
    ...(pkg.bundled ?? []).map(({ at, ...manifest }) => [
      `node_modules/${at ?? manifest.name}/package.json`,
      `${JSON.stringify(manifest)}\n`,
    ]),
  ] as const;
  const entries = files.flatMap(([path = '', text = '']) =>
    fileEntries(`package/${path}`, Buffer.from(text)),
  );
  return gzipSync(Buffer.concat([...entries, Buffer.alloc(2 * BLOCK_BYTES)]), { level: 9 });
}

/** As npm does it: what is too long for a header stands in one of its own before it (pax). */
function fileEntries(path: string, content: Buffer): Buffer[] {
  if (path.length <= 100) return tarEntry(path, content);
  const record = ` path=${path}\n`;
  const own = record.length + 1;
  const length = [own, own + 1, own + 2].find((sum) => `${sum}${record}`.length === sum);
  const header = tarEntry('PaxHeader/package.json', Buffer.from(`${length}${record}`), 'x');
  return [...header, ...tarEntry(path.slice(0, 100), content)];
}

/** One entry of an archive; `type` as POSIX has it, `0` for a file. */
export function tarEntry(path: string, content: Buffer, type = '0'): Buffer[] {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(path, 0, 100);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write(`${MTIME_SECONDS.toString(8).padStart(11, '0')}\0`, 136);
  header.write('        ', 148);
  header.write(type, 156);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const padding = Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES);
  return [header, content, padding];
}
