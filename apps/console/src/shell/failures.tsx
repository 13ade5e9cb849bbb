import type { ClientErrorReport } from '@tidegate/protocol/client-errors-api';
import { call } from '../api/client.ts';
import { Button } from '../ui/button.tsx';
import { Page } from '../ui/page.tsx';

const MESSAGE_MAX = 10_000;
const URL_MAX = 2_000;
/** The most reports per page load: an error in a loop must not become a flood. */
const REPORTS_MAX = 10;

let reports = 0;

/** Reports an error to the server (E7); never throws, never waits. */
export function reportError(
  error: unknown,
  type: ClientErrorReport['error_type'] = 'javascript_error',
): void {
  if (++reports > REPORTS_MAX) return;
  const message = (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(
    0,
    MESSAGE_MAX,
  );
  const stack = error instanceof Error ? error.stack?.slice(0, MESSAGE_MAX) : undefined;
  const body: ClientErrorReport = {
    error_type: type,
    message: message || 'unknown error',
    subsystem: 'console',
    // Without the query: a filter may hold data that does not belong in the log.
    url: (location.origin + location.pathname).slice(0, URL_MAX),
    ...(stack ? { stack } : {}),
  };
  call('POST', '/logs/client-error', { body }).catch(() => undefined);
}

/** Reports uncaught errors to the server. */
export function reportUncaught(): void {
  addEventListener('error', ({ error, message }) => reportError(error ?? message));
  addEventListener('unhandledrejection', ({ reason }) => reportError(reason));
}

/** Replaces a page that failed; the frame around it and the other pages keep working. */
export function FailedPage({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <Page title="This page failed">
      <div role="alert" className="space-y-3">
        <p>{error instanceof Error ? error.message : String(error)}</p>
        <p className="text-muted">The error was reported to the server. What you did before is not lost.</p>
        <div className="flex gap-2">
          <Button tone="primary" onClick={reset}>
            Try again
          </Button>
          <Button onClick={() => location.assign('/')}>Go to the overview</Button>
        </div>
      </div>
    </Page>
  );
}
