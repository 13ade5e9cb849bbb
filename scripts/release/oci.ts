import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { TarEntry } from '@tidegate/support/tar';
import { tarOf } from './tar.ts';

export interface Layer {
  /** What is in it, for people who look at the history of the image. */
  about: string;
  entries: readonly TarEntry[];
  /** Time of its files, in seconds since 1970: what is the same in every release has the same one, and is transferred once. */
  epochSeconds: number;
}

export interface OciImage {
  /** The name that it is loaded under, with its tag. */
  name: string;
  version: string;
  architecture: 'amd64' | 'arm64';
  layers: readonly Layer[];
  /** `config` of the image configuration. */
  config: Readonly<Record<string, unknown>>;
  epochSeconds: number;
  /** 1 to 9. */
  gzipLevel: number;
}

interface Blob {
  digest: string;
  bytes: Uint8Array;
}

/**
 * Writes an image as one archive in the layout of OCI: the same bytes for the same image. Podman, containerd and Docker load
 * it; `manifest.json` is for Docker's classic image store, which knows no OCI layout. Sources: OCI image-spec 1.1, docker-image-spec 1.3.
 */
export function writeOciImage(image: OciImage, out: string): void {
  const { name, version, architecture, epochSeconds, gzipLevel } = image;
  const created = new Date(epochSeconds * 1_000).toISOString();
  const platform = { architecture, os: 'linux', ...(architecture === 'arm64' ? { variant: 'v8' } : {}) };
  const layers = image.layers.map((layer) => {
    const { about, entries } = layer;
    const tar = tarOf(withFolders(entries), layer.epochSeconds);
    return { about, diffId: digestOf(tar), blob: blobOf(gzipSync(tar, { level: gzipLevel })) };
  });
  const config = blobOf(
    json({
      created,
      ...platform,
      config: image.config,
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
      history: layers.map(({ about }) => ({ created, created_by: about })),
    }),
  );
  const manifest = blobOf(
    json({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...descriptorOf(config) },
      layers: layers.map(({ blob }) => ({
        mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
        ...descriptorOf(blob),
      })),
      annotations: {
        'org.opencontainers.image.created': created,
        'org.opencontainers.image.version': version,
      },
    }),
  );
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
        ...descriptorOf(manifest),
        platform,
        // Podman reads the first, containerd and Docker the second.
        annotations: { 'org.opencontainers.image.ref.name': name, 'io.containerd.image.name': name },
      },
    ],
  };
  const forDocker = [
    { Config: pathOf(config), RepoTags: [name], Layers: layers.map(({ blob }) => pathOf(blob)) },
  ];
  const blobs = [...layers.map(({ blob }) => blob), config, manifest];
  const entries = withFolders([
    file('oci-layout', json({ imageLayoutVersion: '1.0.0' })),
    file('index.json', json(index)),
    file('manifest.json', json(forDocker)),
    ...blobs.map((blob) => file(pathOf(blob), blob.bytes)),
  ]);
  writeFileSync(out, tarOf(entries, epochSeconds));
}

/** With the folders above each entry that are not named, as root's and readable by everyone. */
function withFolders(entries: readonly TarEntry[]): TarEntry[] {
  const given = new Set(entries.map(({ path }) => path));
  const above = new Set(entries.flatMap(({ path }) => foldersAbove(path)));
  const missing = [...above].filter((path) => !given.has(path));
  return [...missing.map((path) => ({ path, kind: 'folder', mode: 0o755, owner: 0 }) as const), ...entries];
}

function foldersAbove(path: string): string[] {
  const names = path.split('/');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
}

export function file(path: string, bytes: Uint8Array | string, mode = 0o644): TarEntry {
  return { path, kind: 'file', mode, owner: 0, bytes: Buffer.from(bytes) };
}

function blobOf(bytes: Uint8Array): Blob {
  return { digest: digestOf(bytes), bytes };
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

function descriptorOf({ digest, bytes }: Blob) {
  return { digest, size: bytes.length };
}

function pathOf({ digest }: Blob): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
