import type { OperatorAccess } from '../platform/http/access.ts';

/** Reads of the caller's own account, also for operators who still have to enrol a second factor. */
export const readsOwn: OperatorAccess = {
  role: 'viewer',
  limit: 'admin_reads',
  reach: 'none',
  toEnrol: true,
};
export const changesOwn: OperatorAccess = { ...readsOwn, limit: 'admin_operations' };
/** Changing a credential requires the password, and a recent proof of a second factor where there is one. */
export const changesCredential: OperatorAccess = { ...changesOwn, stepUp: 'credentials' };
/** Proofs have the same limit as passwords, against guessing. */
export const proves: OperatorAccess = { ...changesOwn, limit: 'login' };
