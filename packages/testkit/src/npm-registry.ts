import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { listenOnLoopback } from './loopback.ts';
import type { NpmPackage } from './npm-packages.ts';
import { manifestOf, packTarball } from './npm-tarball.ts';

/** `tamper`: every tarball has one byte changed, at equal size. */
export type NpmRegistryMode = 'up' | 'down' | 'garbage' | 'tamper';

export type NpmRegistryOptions = {
  packages?: readonly NpmPackage[];
  /** When versions were published that do not say so. */
  publishedAt?: string;
};

/** A registry with real packuments and tarballs, on the loopback interface. */
export type NpmRegistry = {
  readonly url: string;
  mode: NpmRegistryMode;
  /** Paths that were asked for, in order. */
  readonly fetched: string[];
  /** The version that was published last and is no prerelease gets the tag `latest`. */
  publish(...packages: NpmPackage[]): void;
  tag(name: string, tag: string, version: string): void;
  /** The bytes of a tarball as they were published. Throws where none was. */
  tarball(name: string, version: string): Buffer;
  stop(): Promise<void>;
};

type Published = {
  versions: Map<string, { pkg: NpmPackage; tarball: Buffer; at: string }>;
  tags: Map<string, string>;
};

export async function startNpmRegistry(options: NpmRegistryOptions = {}): Promise<NpmRegistry> {
  const { publishedAt = '2025-01-01T00:00:00.000Z' } = options;
  const packages = new Map<string, Published>();
  const fetched: string[] = [];
  const server = await listenOnLoopback((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://loopback').pathname);
    fetched.push(path);
    answer(path, response);
  });

  function answer(path: string, response: ServerResponse): void {
    if (registry.mode === 'down') {
      response.writeHead(503).end();
      return;
    }
    if (registry.mode === 'garbage') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"versions": [1, "');
      return;
    }
    const [name = '', file] = path.slice(1).split('/-/');
    const published = packages.get(name);
    if (published === undefined) {
      notFound(response);
      return;
    }
    if (file === undefined) {
      sendJson(response, 200, packument(name, published));
      return;
    }
    const version = [...published.versions].find(([one]) => file === fileName(name, one));
    if (version === undefined) {
      notFound(response);
      return;
    }
    const bytes = registry.mode === 'tamper' ? tampered(version[1].tarball) : version[1].tarball;
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes.length });
    response.end(bytes);
  }

  function packument(name: string, { versions, tags }: Published) {
    const documents = [...versions].map(([version, { pkg, tarball }]) => [
      version,
      {
        ...manifestOf(pkg),
        ...(pkg.deprecated !== undefined && { deprecated: pkg.deprecated }),
        ...(pkg.scripts !== undefined && { hasInstallScript: true }),
        ...pkg.saysInstead,
        _id: `${name}@${version}`,
        dist: {
          tarball: `${server.url}/${name}/-/${fileName(name, version)}`,
          integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
          shasum: createHash('sha1').update(tarball).digest('hex'),
        },
      },
    ]);
    const times = [...versions].map(([version, { at }]) => [version, at]);
    return {
      ...{ _id: name, name, 'dist-tags': Object.fromEntries(tags), versions: Object.fromEntries(documents) },
      time: { created: publishedAt, modified: publishedAt, ...Object.fromEntries(times) },
    };
  }

  const registry: NpmRegistry = {
    url: server.url,
    mode: 'up',
    fetched,
    publish: (...added) => {
      for (const pkg of added) {
        const { name, version } = pkg;
        const published = packages.get(name) ?? { versions: new Map(), tags: new Map() };
        packages.set(name, published);
        published.versions.set(version, { pkg, tarball: packTarball(pkg), at: publishedAt });
        if (!version.includes('-')) published.tags.set('latest', version);
      }
    },
    tag: (name, tag, version) => void packages.get(name)?.tags.set(tag, version),
    tarball: (name, version) => {
      const found = packages.get(name)?.versions.get(version);
      if (found === undefined) throw new RangeError(`${name} ${version} was never published`);
      return found.tarball;
    },
    stop: server.stop,
  };
  registry.publish(...(options.packages ?? []));
  return registry;
}

function fileName(name: string, version: string): string {
  return `${name.replace(/^.*\//, '')}-${version}.tgz`;
}

/** Another package of equal size: a byte past the header of gzip that its checksum does not cover. */
function tampered(tarball: Buffer): Buffer {
  const copy = Buffer.from(tarball);
  copy[9] = (copy[9] ?? 0) ^ 1; // the byte that names the system it was packed on: still a sound archive
  return copy;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function notFound(response: ServerResponse): void {
  sendJson(response, 404, { error: 'Not found' });
}
