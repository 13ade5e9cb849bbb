import {
  BROKEN_PACKAGES_MAX,
  type BrokenPackage,
  type HostTroubleReason,
  LEFT_FILES_MAX,
  type LeftFile,
  type PackageCondition,
} from '@tidegate/protocol/package-condition';
import type { Repair } from '@tidegate/protocol/repairs';
import { shownText } from '../platform/shown-text.ts';

const LINE_MAX_CHARS = 1_000;
const NAME_MAX_CHARS = 214;

/** Why a host must be mended, or waited for, before anything is installed on it (decision 0040). */
export interface HostTrouble {
  reason: HostTroubleReason;
  /** What is wrong and how to mend it, for operators. */
  detail: string;
}

/** The condition of the packages of one package manager, as the server takes it: bounded, and with nothing invisible. */
export function describeCondition(found: {
  trouble: HostTrouble | null;
  broken: readonly BrokenPackage[];
  repair?: Repair | null;
  left: readonly LeftFile[];
  unreadFolders: number;
}): PackageCondition {
  const { trouble, broken, repair, left, unreadFolders } = found;
  return {
    trouble: trouble && { reason: trouble.reason, detail: shownText(trouble.detail, LINE_MAX_CHARS) },
    broken: broken.slice(0, BROKEN_PACKAGES_MAX).map(({ name, version, arch, state }) => ({
      ...{ name: shownText(name, NAME_MAX_CHARS), version: shownText(version, LINE_MAX_CHARS) },
      ...(arch && { arch }),
      state: shownText(state, LINE_MAX_CHARS),
    })),
    more_broken: Math.max(0, broken.length - BROKEN_PACKAGES_MAX),
    ...(repair && { repair }),
    left_files: left.slice(0, LEFT_FILES_MAX).map(({ path, package: name }) => ({
      path: shownText(path, LINE_MAX_CHARS),
      ...(name !== undefined && { package: shownText(name, NAME_MAX_CHARS) }),
    })),
    more_left_files: Math.max(0, left.length - LEFT_FILES_MAX),
    unread_folders: unreadFolders,
  };
}
