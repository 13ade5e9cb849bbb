import type { ReactNode, Ref } from 'react';

/** A part of a page that scrolls by itself; the keyboard reaches it, so that all of it can be read. */
export function ScrollArea({
  label,
  className,
  ref,
  children,
}: {
  /** What it holds, for screen readers; left out where the text before it says so. */
  label?: string;
  className: string;
  ref?: Ref<HTMLElement>;
  children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
    <section ref={ref} aria-label={label} tabIndex={0} className={`overflow-auto ${className}`}>
      {children}
    </section>
  );
}
