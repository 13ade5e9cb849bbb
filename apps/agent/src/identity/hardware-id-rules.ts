const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Placeholder ids in firmware without a real id; many machines share them. */
const PLACEHOLDER_UUIDS: ReadonlySet<string> = new Set([
  '03000200-0400-0500-0006-000700080009', // the reference firmware of one vendor
  '00020003-0004-0005-0006-000700080009', // the same, in the other byte order
  '12345678-1234-5678-90ab-cddeefaabbcc',
  '4c4c4544-0000-2010-8020-80c04f202020', // a service tag of blanks
]);
/** What cloud-init writes where no cloud gave an id, and the id of its documentation. */
const PLACEHOLDER_INSTANCES: ReadonlySet<string> = new Set(['iid-datasource-none', 'nocloud', 'iid-local01']);

/**
 * Reads an SMBIOS product UUID; null for one that does not tell machines apart, such as all zeros, all F or "Not
 * Settable". Lower case, as kernels differ in how they print it.
 */
export function readProductUuid(text: string): string | null {
  const uuid = text.trim().toLowerCase();
  if (!UUID_FORM.test(uuid) || PLACEHOLDER_UUIDS.has(uuid)) return null;
  const [first = '', ...others] = uuid.replaceAll('-', '').match(/../g) ?? [];
  return others.every((byte) => byte === first) ? null : uuid;
}

/** Parses a cloud instance id; null for a placeholder. */
export function readInstanceId(text: string): string | null {
  const id = text.trim();
  return id === '' || PLACEHOLDER_INSTANCES.has(id.toLowerCase()) ? null : id;
}

/** The used fields of a mount in /proc/self/mountinfo. */
export interface Mount {
  /** The mounted part of its file system. */
  root: string;
  at: string;
  type: string;
}

/** Reads /proc/self/mountinfo (proc_pid_mountinfo(5)). */
export function parseMounts(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root, at] = before.split(' ');
    const [type] = after.split(' ');
    return root === undefined || at === undefined || type === undefined ? [] : [{ root, at, type }];
  });
}

/**
 * Whether /etc/machine-id is mounted separately and not the image's. The id that systemd mounts there for one
 * boot only, from /run, does not count.
 */
export function isMachineIdMounted(mounts: readonly Mount[]): boolean {
  return mounts.some(
    ({ at, type, root }) =>
      at === '/etc' || (at === '/etc/machine-id' && !(type === 'tmpfs' && root === '/machine-id')),
  );
}
