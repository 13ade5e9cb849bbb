import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTool, SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { pipFolder } from '../../scripts/release/pip-folder.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const REQUIREMENTS = join(REPOSITORY, 'e2e/harness/compose-requirements.txt');
/** Debian's packages for it; runc because crun refuses machines that have both versions of control groups. */
const TOOLS = {
  podman: 'podman',
  runc: 'runc',
  iptables: 'iptables',
  '/usr/lib/podman/netavark': 'netavark',
  '/usr/lib/podman/aardvark-dns': 'aardvark-dns',
};

/** What this machine lacks to run containers in Podman, or null. */
export function lackingForPodman(): string | null {
  if (process.getuid?.() !== 0) return 'only root runs Podman here';
  const lacking = Object.entries(TOOLS).flatMap(([tool, name]) =>
    (tool.startsWith('/') ? existsSync(tool) : findTool(tool) !== null) ? [] : [name],
  );
  return lacking.length === 0 ? null : `not installed: ${lacking.join(', ')}`;
}

/** The environment of a Podman with images, containers and volumes of its own in `folder`, and with `podman compose`. */
export function podmanIn(folder: string): Record<string, string> {
  const path = (name: string) => join(folder, name);
  mkdirSync(path('bin'));
  writeFileSync(
    path('storage.conf'),
    `[storage]\ndriver = "vfs"\ngraphroot = "${path('images')}"\nrunroot = "${path('run')}"\n`,
  );
  // Limits that a machine that is itself a container may set.
  writeFileSync(
    path('containers.conf'),
    `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
volume_path = "${path('volumes')}"
[network]
network_backend = "netavark"
network_config_dir = "${path('networks')}"
`,
  );
  const compose = pipFolder(
    join(REPOSITORY, 'node_modules/.cache/tidegate-release/podman-compose-1.6.0'),
    REQUIREMENTS,
  );
  // What `podman compose` of a newer Podman does.
  const script = `#!/bin/sh
[ "$1" = compose ] || exec /usr/bin/podman "$@"
shift
exec env PYTHONPATH="${compose}" /usr/bin/python3 -m podman_compose "$@"
`;
  writeFileSync(path('bin/podman'), script);
  chmodSync(path('bin/podman'), 0o755);
  return {
    PATH: `${path('bin')}:${SYSTEM_PATH}`,
    HOME: folder,
    CONTAINERS_STORAGE_CONF: path('storage.conf'),
    CONTAINERS_CONF: path('containers.conf'),
  };
}
