import { X } from 'lucide-react';
import { type ReactNode, useEffect, useEffectEvent } from 'react';
import { IconButton } from './button.tsx';

/** The actions on the selection, floating above the list; Escape clears the selection. */
export function BulkBar({
  count,
  noun,
  onClear,
  children,
}: {
  count: number;
  noun: string;
  onClear: () => void;
  children: ReactNode;
}) {
  const clear = useEffectEvent(onClear);
  const isShown = count > 0;
  useEffect(() => {
    if (!isShown) return;
    const onKeyDown = (event: KeyboardEvent) => {
      const isInside = event.target instanceof Element && event.target.closest('dialog,[role=menu]') !== null;
      if (event.key === 'Escape' && !event.defaultPrevented && !isInside) clear();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [isShown]);
  return (
    <div role="status" className="pointer-events-none sticky bottom-4 z-20 mt-3 flex justify-center">
      {isShown && (
        <div className="pointer-events-auto flex max-w-full flex-wrap items-center gap-2 rounded-xl border border-line-strong/60 bg-raised px-3 py-2 shadow-float">
          <strong className="px-1">
            {count.toLocaleString('en')} {noun} selected
          </strong>
          {children}
          <IconButton label="Clear the selection (Esc)" onClick={onClear}>
            <X aria-hidden="true" className="size-4" />
          </IconButton>
        </div>
      )}
    </div>
  );
}
