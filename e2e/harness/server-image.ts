import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTool, runTool, SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type Child, startChild } from './child.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const TARGET = process.arch === 'arm64' ? 'linux-arm64' : 'linux-x64';

const Digest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' });
const Descriptor = Type.Object({ mediaType: Type.String(), digest: Digest, size: Type.Integer() });
const Index = Type.Object({ manifests: Type.Array(Descriptor, { minItems: 1, maxItems: 1 }) });
const Manifest = Type.Object({ config: Descriptor, layers: Type.Array(Descriptor) });
const ImageConfig = Type.Object({
  architecture: Type.String(),
  config: Type.Object({
    User: Type.String(),
    Env: Type.Array(Type.String()),
    Entrypoint: Type.Array(Type.String(), { minItems: 1 }),
    Cmd: Type.Array(Type.String()),
    Volumes: Type.Record(Type.String(), Type.Object({})),
    Healthcheck: Type.Object({ Test: Type.Array(Type.String()) }),
  }),
  rootfs: Type.Object({ diff_ids: Type.Array(Digest) }),
});
type RunConfig = Static<typeof ImageConfig>['config'];
const DockerManifest = Type.Array(
  Type.Object({
    Config: Type.String(),
    RepoTags: Type.Array(Type.String()),
    Layers: Type.Array(Type.String()),
  }),
);

/** What this machine lacks to build an image and to run it, or null. */
export function lackingForImage(): string | null {
  const missing = ['apt-get', 'dpkg-deb', 'unshare', 'tar'].filter((tool) => findTool(tool) === null);
  if (missing.length > 0) return `${missing.join(', ')} is not installed`;
  try {
    execFileSync('unshare', ['--user', '--map-root-user', '--mount', '--pid', '--fork', '/bin/true'], {
      stdio: 'ignore',
    });
    return null;
  } catch {
    return 'user namespaces are not allowed here';
  }
}

/** A release with nothing but the server, for this machine. */
export interface BuiltImage {
  version: string;
  folder: string;
  archive: string;
  sbom: string;
  remove(): void;
}

/** Builds the image, and what else of it is asked for, with the release's own command; `env` is what may differ from one builder to the next. */
export async function buildImage(
  env: Record<string, string>,
  otherFormats: readonly string[] = [],
): Promise<BuiltImage> {
  mkdirSync(join(REPOSITORY, 'dist'), { recursive: true });
  const folder = mkdtempSync(join(REPOSITORY, 'dist/.image-'));
  const args = [
    '--product',
    'tidegate',
    '--format',
    'oci',
    ...otherFormats.flatMap((name) => ['--format', name]),
    '--target',
    TARGET,
    '--fast',
    '--out',
    join(folder, 'release'),
  ];
  await runTool(process.execPath, [join(REPOSITORY, 'scripts/release.ts'), ...args], {
    cwd: REPOSITORY,
    env: { PATH: process.env.PATH ?? SYSTEM_PATH, HOME: process.env.HOME ?? '/', ...env },
  });
  const { version } = Value.Parse(
    Type.Object({ version: Type.String() }),
    JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')),
  );
  return {
    version,
    folder: join(folder, 'release'),
    archive: join(folder, `release/tidegate_${version}_${TARGET}.oci.tar`),
    sbom: join(folder, `release/tidegate-image_${version}_${TARGET}.cdx.json`),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Unpacks the archive as an engine does: the layers above each other. Returns where the root is, and what the image says. */
export async function unpackImage(archive: string, folder: string) {
  const layout = join(folder, 'layout');
  const root = join(folder, 'root');
  for (const made of [layout, root]) mkdirSync(made, { recursive: true });
  await runTool('tar', ['-xf', archive, '-C', layout]);
  const blob = ({ digest }: { digest: string }) => join(layout, 'blobs', digest.replace(':', '/'));
  const index = Value.Parse(Index, json(join(layout, 'index.json')));
  const [descriptor] = index.manifests;
  if (descriptor === undefined) throw new Error('the index names no image');
  const manifest = Value.Parse(Manifest, json(blob(descriptor)));
  const config = Value.Parse(ImageConfig, json(blob(manifest.config)));
  const forDocker = Value.Parse(DockerManifest, json(join(layout, 'manifest.json')));
  for (const layer of manifest.layers) {
    await runTool('tar', ['-xpzf', blob(layer), '-C', root, '--numeric-owner', '--no-same-owner']);
  }
  return { layout, root, index, manifest, config, forDocker };
}

function json(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** In its own namespaces: the root read-only, /data and /tmp writable, /proc and /dev, process 1, and the image's user without capabilities. */
const ENTER = `
root=$1 data=$2 uid=$3; shift 3
mkdir -p "$root/proc" "$root/dev"
mount --rbind "$root" "$root"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -o remount,bind,ro "$root"
mount --bind "$data" "$root/data"
mount -t tmpfs tmpfs "$root/tmp"
exec unshare --user "--map-user=$uid" "--map-group=$uid" "--root=$root" --wd=/data -- "$@"`;

export type Container = Child & {
  /** Sends a signal to process 1, as an engine does. */
  tell(signal: NodeJS.Signals): void;
};

/** Starts the image's entry point, or another `command`, as an engine would, with the network of this machine. */
export function runImage(
  { root, config }: { root: string; config: RunConfig },
  {
    data,
    env,
    words,
    command,
  }: { data: string; env: Record<string, string>; words?: readonly string[]; command?: readonly string[] },
): Container {
  const [uid = ''] = config.User.split(':');
  const given = Object.fromEntries(config.Env.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
  const child = startChild(
    'unshare',
    [
      ...['--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'],
      ...['--', '/bin/sh', '-ec', ENTER, 'enter', root, data, uid],
      ...(command ?? [...config.Entrypoint, ...(words ?? config.Cmd)]),
    ],
    { env: { ...given, ...env, PATH: SYSTEM_PATH } },
  );
  return {
    ...child,
    tell: (signal) => {
      const [inner] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ');
      if (!inner) throw new Error('process 1 is not there');
      process.kill(Number(inner), signal);
    },
  };
}

/** The data volume as Kubernetes makes it, with fsGroup: open to the group. */
export function makeVolume(folder: string): string {
  const data = join(folder, 'data');
  if (!existsSync(data)) mkdirSync(data);
  chmodSync(data, 0o2770);
  return data;
}
