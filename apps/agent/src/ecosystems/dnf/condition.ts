import type { PackageCondition } from '@tidegate/protocol/package-condition';
import { lackOfSpace } from '../../platform/disk-space.ts';
import { describeCondition, type HostTrouble } from '../host-trouble.ts';
import { findLeftFiles } from '../left-files.ts';
import type { ScanAnswer } from './answers.ts';
import { MEND_DNF } from './mend.ts';
import type { DnfSession } from './session.ts';

const TIMEOUT_MS = 120_000;
const OUTPUT_MAX_BYTES = 32 * 1024 * 1024;
/** Maximum number of packages named in a reason. */
const NAMED_MAX = 10;
/** What rpm leaves beside a file that was changed: the new one, or the old one where the new one was taken. */
const SUFFIXES = ['.rpmnew', '.rpmsave', '.rpmorig'];

/** rpm's database, logs and caches grow with any installation. */
const RESERVE_BYTES = 32 * 1024 * 1024;

type Doubled = NonNullable<ScanAnswer['doubled']>;

/** What an interrupted transaction left, and the configuration files that wait for a person; undefined where dnf does not say. */
export async function readCondition(
  session: DnfSession,
  { doubled }: Pick<ScanAnswer, 'doubled'>,
): Promise<PackageCondition | undefined> {
  if (doubled === undefined) return undefined;
  const limits = { timeoutMs: TIMEOUT_MS, maxOutputBytes: OUTPUT_MAX_BYTES };
  const answer = await session.rpm(['-qa', '--configfiles'], limits);
  if (!answer.ok) return undefined;
  const paths = [...new Set(answer.stdout.split('\n').filter((line) => line.startsWith('/')))];
  const files = paths.map((path) => ({ path }));
  const { left, unreadFolders } = await findLeftFiles(files, {
    root: session.places.root,
    suffixes: SUFFIXES,
  });
  const broken = doubled.map(({ name, arch, evr }) => ({
    name,
    arch,
    version: evr,
    state: 'installed twice',
  }));
  const trouble = troubleOf(doubled) ?? findFullDisk(session.places.root);
  return describeCondition({ trouble, broken, left, unreadFolders });
}

function troubleOf(doubled: Doubled): HostTrouble | null {
  const names = [...new Set(doubled.map(({ name }) => name))].sort();
  if (names.length === 0) return null;
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
  const named = `${names.slice(0, NAMED_MAX).join(', ')}${more}`;
  return { reason: 'transaction_interrupted', detail: `installed in two versions: ${named}; ${MEND_DNF}` };
}

/** Whether there is no room for any installation at all. */
function findFullDisk(root: string): HostTrouble | null {
  const lack = lackOfSpace(root, RESERVE_BYTES);
  if (lack === null) return null;
  const detail = `an installation ${lack}; free some there (\`dnf clean all\`, old kernels, logs)`;
  return { reason: 'space_insufficient', detail };
}
