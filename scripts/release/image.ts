import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { baseLayer, IMAGE_USER } from './base-layer.ts';
import { type Base, basePackages } from './base-packages.ts';
import { file, type Layer, writeOciImage } from './oci.ts';
import type { Staged } from './stage.ts';
import { type LinuxTarget, TARGETS } from './targets.ts';
import type { TreeFile } from './tree.ts';

const NODE = 'usr/lib/tidegate/bin/node';
/** The rest of a host's tree is for systemd and for hosts with a shell. */
const PROGRAM = /^usr\/(lib\/tidegate|share\/doc)\//;
const COMMAND = 'usr/bin/tidegate';
/** The image has no shell: the kernel starts Node itself. */
const COMMAND_TEXT = `#!/${NODE}\nimport '/usr/lib/tidegate/server/main.js';\n`;
const SECOND_NS = 1_000_000_000;

/** The version of the image is that of Tidegate. On `localhost` no registry can answer for an image that is not loaded. */
export function imageName(version: string): string {
  return `localhost/tidegate:${version}`;
}

/** Writes the image of a staged server. Returns what is inside besides the server's own packages. */
export function writeImage(
  staged: Staged,
  job: { target: LinuxTarget; version: string; epochSeconds: number; isFast: boolean; out: string },
): { base: Base; files: TreeFile[] } {
  const { target, version, epochSeconds, isFast, out } = job;
  const architecture = TARGETS[target].packageArch;
  const base = basePackages(architecture);
  // An upgrade of Tidegate transfers the last one, as the others stay the same.
  const layers: Layer[] = [
    {
      about: `Debian ${base.release}: C and C++ libraries, certificates`,
      entries: baseLayer(base),
      epochSeconds: 0,
    },
    { about: 'Node.js', entries: entriesOf(staged, (path) => path === NODE), epochSeconds: 0 },
    {
      about: `Tidegate ${version}`,
      entries: [
        file(COMMAND, COMMAND_TEXT, 0o755),
        ...entriesOf(staged, (path) => PROGRAM.test(path) && path !== NODE),
      ],
      epochSeconds,
    },
  ];
  const config = imageConfig(version);
  const gzipLevel = isFast ? 1 : 9;
  writeOciImage(
    { name: imageName(version), version, architecture, layers, config, epochSeconds, gzipLevel },
    out,
  );
  return { base, files: layers.flatMap(({ entries }) => entries.flatMap(treeFileOf)) };
}

function entriesOf({ tree, files }: Staged, isWanted: (path: string) => boolean) {
  return files
    .filter(({ path }) => isWanted(path))
    .map(({ path, mode }) => file(path, readFileSync(join(tree, path)), mode));
}

function treeFileOf(entry: Layer['entries'][number]): TreeFile[] {
  if (entry.kind !== 'file') return [];
  const sha256 = createHash('sha256').update(entry.bytes).digest('hex');
  return [{ path: entry.path, mode: entry.mode, sha256 }];
}

/** How engines run it: `config` of OCI's image configuration. */
export function imageConfig(version: string) {
  return {
    User: `${IMAGE_USER}:${IMAGE_USER}`,
    ExposedPorts: { '8080/tcp': {} },
    Env: [
      'PATH=/usr/bin',
      'SERVICE_DATA_DIR=/data',
      'SERVICE_HOST=0.0.0.0',
      'SERVICE_LOG_FORMAT=json',
      // Authorities of the image, or of a file mounted in its place, beside those of Node.
      'NODE_USE_SYSTEM_CA=1',
    ],
    Entrypoint: [`/${COMMAND}`],
    Cmd: ['server'],
    Volumes: { '/data': {} },
    WorkingDir: '/data',
    Labels: {
      'org.opencontainers.image.title': 'Tidegate',
      'org.opencontainers.image.description':
        'Judges, approves, signs and records software updates of a fleet',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.documentation': '/usr/share/doc/tidegate',
    },
    StopSignal: 'SIGTERM',
    // An extension that Docker reads; OCI has no health check, and Podman and Kubernetes ignore this one.
    Healthcheck: {
      Test: ['CMD', `/${COMMAND}`, 'doctor', '--running'],
      Interval: 30 * SECOND_NS,
      Timeout: 10 * SECOND_NS,
      StartPeriod: 60 * SECOND_NS,
      Retries: 3,
    },
  };
}
