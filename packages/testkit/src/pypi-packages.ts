import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { zipArchive } from './zip-archive.ts';

/** One file of a wheel, as its bytes. */
export type WheelFile = { path: string; content: string | Uint8Array };

/** A version of a Python project as it is published. */
export type PypiPackage = {
  name: string;
  version: string;
  /** As in `Requires-Dist`: `demo-lib>=1.1`, `other; extra == "more"`. */
  requires?: readonly string[];
  extras?: readonly string[];
  requiresPython?: string;
  /** What is published; a wheel unless given. A source distribution leaves a file behind where it is built. */
  kind?: 'wheel' | 'sdist';
  /** The end of the wheel's name; `py3-none-any` unless given. */
  tag?: string;
  yanked?: boolean;
  /** RFC 3339; 2026-01-01 unless given. */
  uploadedAt?: string;
  /** Content of its one module; two packages of one version that differ here have different hashes. */
  content?: string;
  /** More entries of the wheel, good or hostile. */
  extraFiles?: readonly WheelFile[];
};

/** A file as the index serves it. */
export type PypiFile = { filename: string; bytes: Buffer; pkg: PypiPackage };

/** An application whose new version needs a new version of its library. */
export const PYPI_DEMO = {
  old: [
    { name: 'demo-lib', version: '1.0' },
    { name: 'demo-app', version: '1.0', requires: ['demo-lib>=1.0'] },
  ],
  offered: [
    { name: 'demo-lib', version: '1.1' },
    { name: 'demo-app', version: '2.0', requires: ['demo-lib>=1.1'] },
  ],
} as const satisfies Record<string, readonly PypiPackage[]>;

/** Builds the file of a version: the same bytes for the same words. */
export function buildPypiFile(pkg: PypiPackage): PypiFile {
  const bytes = pkg.kind === 'sdist' ? sdistOf(pkg) : wheelOf(pkg);
  return { filename: pypiFilename(pkg), bytes, pkg };
}

export function pypiFilename(pkg: PypiPackage): string {
  if (pkg.kind === 'sdist') return `${escaped(pkg.name)}-${pkg.version}.tar.gz`;
  return `${escaped(pkg.name)}-${pkg.version}-${pkg.tag ?? 'py3-none-any'}.whl`;
}

/** Name of the one module of a project. */
export function moduleOf(name: string): string {
  return escaped(name);
}

function wheelOf(pkg: PypiPackage): Buffer {
  const info = `${escaped(pkg.name)}-${pkg.version}.dist-info`;
  const wheel = `Wheel-Version: 1.0\nGenerator: testkit\nRoot-Is-Purelib: true\nTag: ${pkg.tag ?? 'py3-none-any'}\n`;
  const module = `VERSION = ${JSON.stringify(pkg.content ?? pkg.version)}\n`;
  const entries = [
    { path: `${moduleOf(pkg.name)}.py`, content: module },
    ...(pkg.extraFiles ?? []),
    { path: `${info}/METADATA`, content: metadataOf(pkg) },
    { path: `${info}/WHEEL`, content: wheel },
  ];
  const record = entries.map(({ path, content }) => `${path},sha256=${digest(content)},${content.length}\n`);
  const files = [...entries, { path: `${info}/RECORD`, content: `${record.join('')}${info}/RECORD,,\n` }];
  return zipArchive(
    files.map(({ path, content }) => ({ name: path, content })),
    { deflate: false },
  );
}

/** The words that a project says of itself (core metadata 2.1). */
export function metadataOf({ name, version, requires, extras, requiresPython }: PypiPackage): string {
  const lines = [
    ...['Metadata-Version: 2.1', `Name: ${name}`, `Version: ${version}`],
    ...(requiresPython === undefined ? [] : [`Requires-Python: ${requiresPython}`]),
    ...(extras ?? []).map((extra) => `Provides-Extra: ${extra}`),
    ...(requires ?? []).map((requirement) => `Requires-Dist: ${requirement}`),
  ];
  return `${lines.join('\n')}\n\nA package of a test.\n`;
}

/** A source distribution whose set-up script proves, by a file beside it, that it was run. */
function sdistOf(pkg: PypiPackage): Buffer {
  const top = `${escaped(pkg.name)}-${pkg.version}`;
  const script = `open("/tmp/tidegate-sdist-was-built", "w").close()\nfrom setuptools import setup\nsetup(name=${JSON.stringify(pkg.name)}, version=${JSON.stringify(pkg.version)})\n`;
  const files = [
    { path: `${top}/PKG-INFO`, content: metadataOf(pkg) },
    { path: `${top}/setup.py`, content: script },
  ];
  return gzipSync(Buffer.concat([...files.flatMap(tarEntry), Buffer.alloc(1_024)]));
}

function tarEntry({ path, content }: { path: string; content: string }): Buffer[] {
  const header = Buffer.alloc(512);
  header.write(path, 0);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${Buffer.byteLength(content).toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const body = Buffer.from(content);
  return [header, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
}

function escaped(name: string): string {
  return name.replace(/[-_.]+/g, '_').toLowerCase();
}

function digest(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('base64url');
}
