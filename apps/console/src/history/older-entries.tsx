import { useEffect, useRef, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { ErrorPanel } from '../ui/states.tsx';

/** The end of a timeline: how far back it goes, and a button that goes further. The button keeps its focus. */
export function OlderEntries({
  backTo,
  count,
  isStale,
  load,
}: {
  /** Null: it goes back to the beginning of the period. */
  backTo: string | null;
  count: number;
  /** What is shown does not answer the question yet. */
  isStale: boolean;
  load: () => Promise<void>;
}) {
  const [state, setState] = useState<'idle' | 'loading' | { error: unknown }>('idle');
  const [asked, setAsked] = useState(false);
  const end = useRef<HTMLParagraphElement>(null);
  const isAtEnd = asked && backTo === null;
  useEffect(() => {
    // The button is gone and its focus with it; what has the focus otherwise keeps it.
    if (isAtEnd && document.activeElement === document.body) end.current?.focus();
  }, [isAtEnd]);
  const more = async () => {
    if (state === 'loading' || isStale) return;
    setState('loading');
    try {
      await load();
      setState('idle');
      setAsked(true);
    } catch (error) {
      setState({ error });
    }
  };
  if (backTo === null) {
    return (
      asked && (
        <p ref={end} tabIndex={-1} className="px-4 py-3 text-muted">
          That is everything of this period: {count.toLocaleString('en')} entries.
        </p>
      )
    );
  }
  return (
    <div className="space-y-2 px-4 py-3">
      <p role="status" className="text-muted">
        {count === 0 ? 'Nothing of this kind' : `${count.toLocaleString('en')} entries`} back to {backTo}.
      </p>
      {typeof state === 'object' && <ErrorPanel error={state.error} retry={null} />}
      <Button aria-disabled={state === 'loading' || isStale} onClick={() => void more()}>
        {state === 'loading' ? 'Loading older entries…' : 'Load older entries'}
      </Button>
    </div>
  );
}
