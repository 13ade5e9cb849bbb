import type { openNativeLibrary } from './native-library.ts';

/** Section 5: two processes never share one config.json. The kernel drops the lock when the process is gone. */
export interface InstanceLock {
  release(): void;
}

export type LockOutcome =
  | { ok: true; lock: InstanceLock }
  /** `held`: another process is running on this configuration. `unavailable`: this system gives no lock. */
  | { ok: false; reason: 'held' | 'unavailable'; detail: string };

/** What the lock is taken with: this system's own, but in tests of the other two. */
export interface LockSystem {
  platform: NodeJS.Platform;
  processor: string;
  openLibrary: typeof openNativeLibrary;
}
