import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { TarEntry } from '@tidegate/support/tar';
import type { Base, BasePackage } from './base-packages.ts';
import { file } from './oci.ts';

/** The user of the server in the image, by number: Kubernetes cannot tell whether a name is root. */
export const IMAGE_USER = 65_532;

const CERTIFICATES = 'usr/share/ca-certificates/mozilla';

/**
 * What is taken of each package, as a pattern for paths: the libraries that Node loads, with the loader and the resolver, and
 * the copyright of every package. Everything else would only have to be patched.
 */
const KEPT: Readonly<Record<string, RegExp>> = {
  'base-files': /^(etc\/debian_version|usr\/lib\/os-release|usr\/share\/common-licenses\/.*)$/,
  'ca-certificates': /^$/,
  'gcc-14-base': /^$/,
  libatomic1: /^usr\/lib\/[^/]+\/libatomic\.so[.0-9]+$/,
  libc6:
    /^(usr\/lib(64)?\/ld-linux-[^/]+|usr\/lib\/[^/]+\/(ld-linux-[^/]+|lib(c|dl|m|mvec|nss_dns|nss_files|pthread|resolv|rt)\.so[.0-9]+))$/,
  'libgcc-s1': /^usr\/lib\/[^/]+\/libgcc_s\.so[.0-9]+$/,
  'libstdc++6': /^usr\/lib\/[^/]+\/libstdc\+\+\.so[.0-9]+$/,
};

/** The lowest layer of the image: the C library and what else Node loads, certificates, and the user. It has no program. */
export function baseLayer(base: Base): TarEntry[] {
  const { arch, packages } = base;
  return [
    ...packages.flatMap(entriesOf),
    ...packages.map(({ name, control }) => file(`var/lib/dpkg/status.d/${name}`, control)),
    file('etc/ssl/certs/ca-certificates.crt', certificatesOf(packages)),
    file('etc/passwd', passwdOf()),
    file('etc/group', `root:x:0:\ntidegate:x:${IMAGE_USER}:\n`),
    file('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n'),
    link('etc/os-release', '../usr/lib/os-release'),
    link('lib', 'usr/lib'),
    ...(arch === 'amd64' ? [link('lib64', 'usr/lib64')] : []),
    { path: 'tmp', kind: 'folder', mode: 0o1777, owner: 0 },
    { path: 'data', kind: 'folder', mode: 0o700, owner: IMAGE_USER },
  ];
}

function entriesOf({ name, folder }: BasePackage): TarEntry[] {
  const kept = KEPT[name];
  if (kept === undefined) throw new Error(`base-layer.ts does not say what to take of ${name}`);
  const documents = `usr/share/doc/${name}`;
  const isKept = (path: string) => kept.test(path) || path === documents || path === `${documents}/copyright`;
  return below(folder, '')
    .filter(isKept)
    .flatMap((path): TarEntry[] => {
      const source = join(folder, path);
      const found = lstatSync(source);
      if (found.isSymbolicLink()) return [link(path, readlinkSync(source))];
      if (!found.isFile()) return [];
      return [file(path, readFileSync(source), (found.mode & 0o100) === 0 ? 0o644 : 0o755)];
    });
}

/** Every path below a folder, links not followed. */
function below(folder: string, path: string): string[] {
  return readdirSync(join(folder, path), { withFileTypes: true }).flatMap((entry) => {
    const inner = path === '' ? entry.name : `${path}/${entry.name}`;
    return entry.isDirectory() ? [inner, ...below(folder, inner)] : [inner];
  });
}

/** As update-ca-certificates writes it: the certificates of all authorities that Debian passes on. */
function certificatesOf(packages: readonly BasePackage[]): string {
  const found = packages.find(({ name }) => name === 'ca-certificates');
  if (found === undefined) throw new Error('base.lock.json has no ca-certificates');
  const folder = join(found.folder, CERTIFICATES);
  const names = readdirSync(folder).sort();
  if (names.length === 0) throw new Error('ca-certificates has no certificates');
  return names.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
}

function passwdOf(): string {
  return `root:x:0:0:root:/:/usr/sbin/nologin
tidegate:x:${IMAGE_USER}:${IMAGE_USER}:Tidegate server:/data:/usr/sbin/nologin
`;
}

function link(path: string, to: string): TarEntry {
  return { path, kind: 'link', mode: 0o777, owner: 0, to };
}
