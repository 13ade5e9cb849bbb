import { isolated } from '@tidegate/protocol/isolated';
import { type ReactNode, useEffect } from 'react';

/** The frame of every page: heading, lead and actions; also sets the title of the window. */
export function Page({
  title,
  lead,
  actions,
  children,
}: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${isolated(title)} · Tidegate`;
  }, [title]);
  return (
    <div className="mx-auto w-full max-w-[92rem] px-5 py-5 max-md:px-3 max-md:py-3 print:p-0 [&>[role=alert]]:mx-0 [&>[role=alert]]:mt-0">
      <header className="mb-4 flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0 flex-1 basis-80">
          <h1 className="text-xl font-semibold break-words" tabIndex={-1}>
            {title}
          </h1>
          {lead && <div className="mt-0.5 break-words text-muted">{lead}</div>}
        </div>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A bordered box with its own heading. */
export function Panel({
  id,
  title,
  aside,
  children,
}: {
  /** What a link on the same page leads to. */
  id?: string;
  title: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section id={id} className="scroll-mt-4 rounded-xl border border-line bg-surface">
      <header className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 border-b border-line px-4 py-2.5">
        <h2 className="font-semibold">{title}</h2>
        {aside}
      </header>
      <div className="p-4">{children}</div>
    </section>
  );
}

/** Names and values as a list. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[fit-content(16rem)_1fr] gap-x-6 gap-y-1.5 max-sm:grid-cols-1 max-sm:gap-y-0 max-sm:[&_dd]:mb-2">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="wrap-anywhere text-muted">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
