import { withMarksEscaped } from '@tidegate/protocol/isolated';
import type { ReactNode } from 'react';
import { ScrollArea } from './scroll-area.tsx';

/** Content that is folded until it is opened. */
export function Fold({ summary, children }: { summary: ReactNode; children: ReactNode }) {
  return (
    <details className="min-w-0">
      <summary className="min-h-[24px] w-fit rounded px-1 text-muted hover:text-text">{summary}</summary>
      <div className="mt-1">{children}</div>
    </details>
  );
}

/** A stored value as plain text: what agents sent is never rendered as anything else. */
export function RawJson({ value }: { value: unknown }) {
  return (
    <ScrollArea className="max-h-96 rounded-md bg-sunken p-3">
      <pre className="whitespace-pre-wrap break-all">{withMarksEscaped(JSON.stringify(value, null, 2))}</pre>
    </ScrollArea>
  );
}
