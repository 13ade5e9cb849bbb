import { createHash } from 'node:crypto';
import type { InventoryPackage, InventoryReport, InventoryUpdate } from '@tidegate/protocol/agent-api';
import type { Plan, PlanAction } from '@tidegate/protocol/plan';

const CATALOGUE_SIZE = 2_000;
const RPM_ARCH = 'x86_64';
const DEB_ARCH = 'amd64';
const KNOWN_SOURCES = [
  ...[
    'openssl',
    'curl',
    'nginx',
    'openssh',
    'sudo',
    'bash',
    'glibc',
    'systemd',
    'zlib',
    'xz-utils',
    'git',
    'vim',
  ],
  ...[
    'postgresql-15',
    'python3.11',
    'perl',
    'gnutls28',
    'krb5',
    'libxml2',
    'expat',
    'bind9',
    'cups',
    'samba',
  ],
  ...[
    'apache2',
    'php8.2',
    'redis',
    'mariadb',
    'rsync',
    'tar',
    'gzip',
    'less',
    'util-linux',
    'e2fsprogs',
    'dbus',
  ],
];

/** How many packages every host has. */
const BASE = KNOWN_SOURCES.length;

/** The systems that simulated hosts run, by turns. */
export const SYSTEMS = [
  {
    os: { family: 'debian', id: 'debian', version_id: '12', arch: 'x86_64' },
    ecosystem: 'apt',
    suffix: '+deb12u1',
  },
  {
    os: { family: 'debian', id: 'ubuntu', version_id: '24.04', arch: 'x86_64' },
    ecosystem: 'apt',
    suffix: 'ubuntu0.1',
  },
  {
    os: { family: 'rhel', id: 'almalinux', version_id: '9.4', arch: 'x86_64' },
    ecosystem: 'dnf',
    suffix: '.el9_4',
  },
] as const;
export type System = (typeof SYSTEMS)[number];

export type InventoryShape = { packages: number; updates: number };

/** What a simulated host has: the same for the same index and shape, and different from host to host. */
export type HostInventory = { packages: InventoryPackage[]; updates: InventoryUpdate[] };

/** Makes the inventory of host `index`; `updated` names packages that are at their new version already. */
export function hostInventory(
  index: number,
  options: InventoryShape & { system: System; updated: ReadonlySet<string> },
): HostInventory {
  const { system, updated } = options;
  const count = Math.min(options.packages, CATALOGUE_SIZE);
  const outdatedEvery =
    options.updates > 0 ? Math.max(1, Math.floor(count / options.updates)) : Number.POSITIVE_INFINITY;
  const arch = archOf(system);
  const packages: InventoryPackage[] = [];
  const updates: InventoryUpdate[] = [];
  for (let i = 0; i < count; i++) {
    // A prime step spreads the hosts over the catalogue; every host has the first few, as real hosts share a base.
    const item = i < BASE ? i : BASE + ((index * 7_919 + i) % (CATALOGUE_SIZE - BASE));
    const { name, oldVersion, newVersion } = catalogueItem(item, system);
    const isOutdated = i % outdatedEvery === 0 && i / outdatedEvery < options.updates;
    const isUpdated = updated.has(name);
    const version = isUpdated ? newVersion : oldVersion;
    packages.push({
      name,
      version,
      arch,
      source_name: sourceOf(name),
      source_version: version,
      origin: originOf(system),
    });
    if (isOutdated && !isUpdated) {
      updates.push({
        name,
        current_version: oldVersion,
        available_version: newVersion,
        arch,
        origin: originOf(system),
        security: item % 3 === 0,
        size_bytes: sizeOf(item),
      });
    }
  }
  return { packages, updates };
}

/** The report of a complete scan, each update with its plan. */
export function inventoryReport(inventory: HostInventory, scannedAt: string): InventoryReport {
  const updates = inventory.updates.map((update) => ({ ...update, plan: planOf([update], scannedAt) }));
  return { scanned_at: scannedAt, complete: true, packages: inventory.packages, updates };
}

/** The plan of updates that need nothing else. The hashes are those of no files: simulated hosts install nothing. */
export function planOf(updates: readonly InventoryUpdate[], resolvedAt: string): Plan {
  return { resolved_at: resolvedAt, actions: updates.map(actionOf) };
}

function actionOf(update: InventoryUpdate): PlanAction {
  const { name, current_version: from, available_version: to, arch = 'all', origin = '' } = update;
  const filename = arch === RPM_ARCH ? `${name}-${to}.${arch}.rpm` : `${name}_${to}_${arch}.deb`;
  const artifact = {
    filename,
    url: `http://archive.example.invalid/pool/${filename}`,
    size_bytes: update.size_bytes ?? 0,
    sha256: createHash('sha256').update(filename).digest('hex'),
  };
  const source = { source_name: sourceOf(name), source_version: to };
  return {
    action: 'upgrade',
    name,
    arch,
    from_version: from,
    to_version: to,
    ...source,
    origin,
    artifact,
  };
}

function catalogueItem(item: number, { suffix }: System) {
  const source = KNOWN_SOURCES[item % BASE] ?? 'base';
  const name = item < BASE ? source : `lib${source}-part${Math.floor(item / BASE)}`;
  const oldVersion = `${1 + (item % 9)}.${item % 20}.${item % 7}-1`;
  return { name, oldVersion, newVersion: oldVersion + suffix };
}

function sourceOf(name: string): string {
  return name.replace(/^lib(.+)-part\d+$/, '$1');
}

function archOf({ ecosystem }: System): string {
  return ecosystem === 'dnf' ? RPM_ARCH : DEB_ARCH;
}

function originOf({ os, ecosystem }: System): string {
  if (ecosystem === 'dnf') return 'baseos';
  return `${os.id}:${os.version_id}/stable`;
}

function sizeOf(item: number): number {
  return 20_000 + item * 1_337;
}
