/** Enough for a large upgrade on a slow disk; interrupting dpkg does more harm than waiting. */
export const INSTALL_TIMEOUT_MS = 2 * 60 * 60_000;
/** How long another package manager may keep its lock. */
export const LOCK_WAIT_MS = 300_000;
/** Maximum number of packages named in a reason. */
export const NAMED_MAX = 20;
/** Nothing that runs in or beside a maintainer script waits for an answer. */
export const QUIET_ENVIRONMENT = {
  APT_LISTCHANGES_FRONTEND: 'none',
  APT_LISTBUGS_FRONTEND: 'none',
  UCF_FORCE_CONFFOLD: '1',
};
