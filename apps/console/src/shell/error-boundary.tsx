import type { ClientErrorReport } from '@tidegate/protocol/client-errors-api';
import { Component, type ReactNode } from 'react';
import { call } from '../api/client.ts';
import { Button } from '../ui/button.tsx';
import { EmptyState } from '../ui/states.tsx';

const MESSAGE_MAX = 10_000;
const URL_MAX = 2_000;
/** Reports of one load of the page; an error in a loop must not become a flood. */
const REPORTS_MAX = 10;

let reports = 0;

/** Tells the server what went wrong here (E7); never throws, never waits. */
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
    // Without the query: a filter may name what the log needs not know.
    url: (location.origin + location.pathname).slice(0, URL_MAX),
    ...(stack ? { stack } : {}),
  };
  call('POST', '/logs/client-error', { body }).catch(() => undefined);
}

/** What nobody caught: the log of the server hears of it. */
export function reportUncaught(): void {
  addEventListener('error', ({ error, message }) => reportError(error ?? message));
  addEventListener('unhandledrejection', ({ reason }) => reportError(reason));
}

/** Keeps a page that fails from taking the others with it. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidCatch(error: unknown): void {
    reportError(error, 'ui_error');
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div role="alert">
        <EmptyState
          title="This page failed"
          action={
            <div className="flex gap-2">
              <Button tone="primary" onClick={() => this.setState({ error: null })}>
                Try again
              </Button>
              <Button onClick={() => location.assign('/')}>Go to the overview</Button>
            </div>
          }
        >
          <p>{error.message}</p>
          <p>It was reported to the server. What you did before is not lost.</p>
        </EmptyState>
      </div>
    );
  }
}
