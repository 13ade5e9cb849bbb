import { RefreshCw } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { Button } from './button.tsx';
import { CopyText } from './copy-text.tsx';

const SKELETON_AFTER_MS = 100;

const BAR = 'animate-pulse rounded bg-line/60';
/** Lines of text end at different places. */
const WIDTHS = ['w-1/2', 'w-2/3', 'w-2/5', 'w-3/5'];

interface SkeletonProps {
  readonly rows?: number;
  /** What is to come: lines of text, rows of a table, the panels of a page, or the weeks of a calendar. */
  readonly as?: 'lines' | 'rows' | 'panels' | 'days';
}

/** The shape of content that is loading in grey; nothing during the first 100 ms. */
export function Skeleton({ rows = 6, as = 'lines' }: SkeletonProps) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div role="status" className="min-h-24">
      <span className="sr-only">Loading</span>
      {shown && as === 'lines' && <Lines count={rows} />}
      {shown && as === 'rows' && <Rows count={rows} />}
      {shown && as === 'panels' && <Panels count={rows} />}
      {shown && as === 'days' && <Days weeks={rows} />}
    </div>
  );
}

function Lines({ count }: { count: number }) {
  return (
    <div className="space-y-3 py-2">
      {Array.from({ length: count }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same.
        <div key={i} className={`h-4 ${BAR} ${WIDTHS[i % WIDTHS.length]}`} />
      ))}
    </div>
  );
}

function Rows({ count }: { count: number }) {
  return Array.from({ length: count }, (_, i) => (
    <div
      // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same.
      key={i}
      className="flex h-(--row) items-center gap-6 border-b border-line px-3 last:border-0"
    >
      <div className={`h-4 w-1/4 ${BAR}`} />
      <div className={`h-4 w-20 ${BAR}`} />
      <div className={`h-4 w-1/5 ${BAR} max-md:hidden`} />
      <div className={`ml-auto h-4 w-16 ${BAR}`} />
    </div>
  ));
}

function Panels({ count }: { count: number }) {
  return (
    <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
      {[count, count].map((lines, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same.
        <div key={i} className="rounded-xl border border-line bg-surface">
          <div className="border-b border-line px-4 py-3">
            <div className={`h-4 w-32 ${BAR}`} />
          </div>
          <div className="px-4 py-2">
            <Lines count={lines} />
          </div>
        </div>
      ))}
    </div>
  );
}

const DAYS_OF_WEEK = 7;

function Days({ weeks }: { weeks: number }) {
  return (
    <div className="grid grid-cols-7">
      {Array.from({ length: weeks * DAYS_OF_WEEK }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same.
        <div key={i} className={`${weeks === 1 ? 'h-[30rem]' : 'h-24'} border-r border-b border-line p-2`}>
          <div className={`h-4 w-6 ${BAR}`} />
        </div>
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

/** An error with what the server says of single fields, a way to retry, and the id to look for in the server's log. */
export function ErrorPanel({
  error,
  retry,
}: {
  error: unknown;
  /** Null: what failed is tried again by what began it. */
  retry: (() => void) | null;
}) {
  const message = error instanceof Error ? error.message : String(error);
  const requestId = error instanceof ApiError ? error.requestId : null;
  const faults = error instanceof ApiError ? (error.problem?.errors ?? []) : [];
  return (
    <div
      role="alert"
      className="m-4 space-y-2 rounded-lg border border-bad/40 bg-bad-soft px-4 py-3 text-bad"
    >
      <p className="font-medium">{message}</p>
      {faults.length > 0 && (
        <ul className="list-disc pl-5 text-text">
          {faults.map(({ path, message: fault }) => (
            <li key={`${path} ${fault}`}>
              <code>{path.replace(/^\//, '')}</code> {fault}
            </li>
          ))}
        </ul>
      )}
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
