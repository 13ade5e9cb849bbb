import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { RollbackSkip, WayBack } from '@tidegate/protocol/rollbacks';
import type { UpdateState } from '@tidegate/protocol/states';
import type { Static } from 'typebox';

/** Packages that a sentence names. */
const NAMED_MAX = 3;

/** Whether an installation could be undone, in words. What is not known counts as none. */
export function wayBackText(wayBack: WayBack | null): string {
  if (wayBack === null) return 'not known, because the host has not reported its plan';
  switch (wayBack.kind) {
    case 'complete':
      return 'possible, the old files of all packages are available';
    case 'partial':
      return `possible in part, the old files of ${missingText(wayBack)} are not available`;
    case 'none':
      return 'not possible, the old files are not available';
  }
}

function missingText({ missing, missing_count: count }: WayBack): string {
  const named = missing
    .slice(0, NAMED_MAX)
    .map(({ package: name, version }) => `${isolated(name)} ${isolated(version)}`);
  const more = count - named.length;
  return more > 0 ? `${isolated(named.join(', '))} and ${counted(more, 'other package')}` : named.join(', ');
}

/** Whether the page of an update offers to undo its installation. */
export function offersRollback(update: { state: UpdateState; out_of_band: boolean }): boolean {
  const isOver = update.state === 'installed' || update.state === 'failed';
  return isOver && !update.out_of_band;
}

/** Why an installation is not undone, as a sentence. */
export const SKIP_TEXTS: Readonly<Record<Static<typeof RollbackSkip>, string>> = {
  not_found: 'The update or its host does not exist any more.',
  not_installed: 'This server has installed nothing of it that is on the host now.',
  under_way: 'The installation is being undone, or another version of the package is under way.',
  changed_since: 'The host has another version by now: there is nothing to undo.',
  too_large: 'The installation changed too many packages to be undone at once.',
};
