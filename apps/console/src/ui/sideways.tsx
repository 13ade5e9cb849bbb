import { type ReactNode, useEffect, useRef, useState } from 'react';

/** Content that scrolls in its place where it is wider than that, and says so: the only component that does it. */
export function Sideways({
  more,
  label,
  className = '',
  children,
}: {
  /** What is out of sight: `columns`, `days`. */
  more: string;
  /** Its name for screen readers, and then it can be focused; absent where its rows can be. */
  label?: string;
  className?: string;
  children: ReactNode;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const [isCut, setCut] = useState(false);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => setCut(element.scrollWidth > element.clientWidth + 1);
    const observer = new ResizeObserver(measure);
    for (const one of [element, ...element.children]) observer.observe(one);
    return () => observer.disconnect();
  }, []);
  const named = label === undefined ? {} : { role: 'region', tabIndex: 0, 'aria-label': label };
  return (
    <>
      {isCut && (
        <p className="px-3 pt-1.5 text-right text-[0.86rem] text-muted">Scroll sideways for more {more}</p>
      )}
      <div ref={frame} {...named} className={`sideways ${className}`} data-cut={isCut ? '' : undefined}>
        {children}
      </div>
    </>
  );
}
