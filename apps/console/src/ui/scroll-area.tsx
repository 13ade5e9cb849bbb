import type { ReactNode, Ref } from 'react';

/** A part of a page that scrolls; it can be focused, so that keyboard users can read all of it. */
export function ScrollArea({
  label,
  className,
  ref,
  children,
}: {
  /** Its name for screen readers; omitted if the text before it says the same. */
  label?: string;
  className: string;
  ref?: Ref<HTMLElement>;
  children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
    <section ref={ref} aria-label={label} tabIndex={0} className={`overflow-auto ${className}`}>
      {children}
    </section>
  );
}
