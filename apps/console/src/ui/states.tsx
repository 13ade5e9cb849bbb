import { RefreshCw } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { Button } from './button.tsx';
import { CopyText } from './copy-text.tsx';

const SKELETON_AFTER_MS = 100;

/** Grey bars in place of content that is loading; nothing during the first 100 ms. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div role="status" className="min-h-24 space-y-2 p-4">
      <span className="sr-only">Loading</span>
      {shown &&
        Array.from({ length: rows }, (_, i) => `bar ${i}`).map((bar) => (
          <div key={bar} className="h-6 animate-pulse rounded bg-sunken" />
        ))}
    </div>
  );
}

/** The content of an empty list: why it is empty, and what to do. */
export function EmptyState({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center gap-3 px-6 py-14 text-center">
      <h2 className="text-base font-semibold">{title}</h2>
      {children && <div className="max-w-xl text-muted">{children}</div>}
      {action}
    </div>
  );
}

/** An error, a way to retry, and the id to look for in the server's log. */
export function ErrorPanel({ error, retry }: { error: unknown; retry?: () => void }) {
  const message = error instanceof Error ? error.message : String(error);
  const requestId = error instanceof ApiError ? error.requestId : null;
  return (
    <div
      role="alert"
      className="m-4 space-y-2 rounded-lg border border-bad/40 bg-bad-soft px-4 py-3 text-bad"
    >
      <p className="font-medium">{message}</p>
      {requestId && (
        <p className="text-text">
          Request id <CopyText text={requestId} label="Copy the request id" />
        </p>
      )}
      {retry && (
        <Button icon={<RefreshCw className="size-4" aria-hidden="true" />} onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}
