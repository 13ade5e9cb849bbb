/** Why a host must be mended, or waited for, before anything is installed on it (decision 0040). */
export type HostTroubleReason =
  | 'packages_broken'
  | 'transaction_interrupted'
  | 'packages_locked'
  | 'space_insufficient';

export interface HostTrouble {
  reason: HostTroubleReason;
  /** What is wrong and how to mend it, for operators. */
  detail: string;
}
