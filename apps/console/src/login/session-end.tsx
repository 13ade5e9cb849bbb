import { lazy, Suspense, useEffect, useSyncExternalStore } from 'react';
import { onSessionEnd } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';

const LoginAgain = lazy(() =>
  import('./login-again.tsx').then(({ LoginAgain }) => ({ default: LoginAgain })),
);

interface Asked {
  readonly promise: Promise<boolean>;
  readonly answer: (isLoggedIn: boolean) => void;
}

let asked: Asked | null = null;
/** The operator closed the dialog: only an act asks again. */
let isDismissed = false;
const listeners = new Set<() => void>();

function set(next: Asked | null): void {
  asked = next;
  for (const listener of listeners) listener();
}

/** Requests of one moment wait for the same login. */
function ask({ isAct }: { isAct: boolean }): Promise<boolean> {
  if (isDismissed && !isAct) return Promise.resolve(false);
  if (asked === null) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    set({ promise, answer: resolve });
    return promise;
  }
  return asked.promise;
}

/** Asks for the login in place when the session has ended, so that the page and what was typed stay. */
export function SessionEnd() {
  const now = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => asked,
  );
  useEffect(() => onSessionEnd(ask), []);
  if (!now) return null;
  const end = (isLoggedIn: boolean) => {
    isDismissed = !isLoggedIn;
    set(null);
    now.answer(isLoggedIn);
    if (isLoggedIn) void queryClient.invalidateQueries();
  };
  return (
    <Suspense>
      <LoginAgain onDone={end} />
    </Suspense>
  );
}
