import { X } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { Field } from './field.tsx';
import { PopoverPlace } from './popover.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
  /** At the edge of the window, full height, instead of in the middle. */
  readonly at?: 'left';
}

const AT_LEFT = 'm-0 h-dvh max-h-none w-[min(20rem,88vw)] rounded-r-xl border-r';
/** Its top stands still: content that comes later moves nothing above it. */
const IN_THE_MIDDLE = 'mt-[8dvh] max-h-[88dvh] rounded-xl border';

const FIELD = 'input:not([type=hidden], [readonly]), select, textarea';
const CONTROL = 'a[href], button, summary, [tabindex]:not([tabindex="-1"])';

/** Moves the focus to the first field, else the first control, else the text; the browser would take the close button. */
function focusFirst(dialog: HTMLElement): void {
  const body = dialog.querySelector<HTMLElement>('[data-body]');
  for (const wanted of [FIELD, CONTROL]) {
    for (const one of body?.querySelectorAll<HTMLElement>(wanted) ?? []) {
      one.focus();
      if (document.activeElement === one) return;
    }
  }
  body?.focus();
}

/** A modal dialog, open while it is rendered; its first field has the focus; Escape closes it and the focus goes back. */
export function Dialog({ title, onClose, children, wide = false, at }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const [place, setPlace] = useState<HTMLElement | null>(null);
  const shape =
    at === 'left' ? AT_LEFT : `${IN_THE_MIDDLE} ${wide ? 'w-[min(64rem,94vw)]' : 'w-[min(34rem,94vw)]'}`;
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    setPlace(dialog);
    if (dialog) focusFirst(dialog);
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      className={`scroll-pb-16 overflow-auto border-line bg-raised p-0 shadow-float ${shape}`}
    >
      <header className="sticky top-0 z-10 flex items-center justify-between gap-4 border-b border-line bg-raised px-5 py-3">
        <h2 id={titleId} className="text-base font-semibold">
          {title}
        </h2>
        <IconButton label="Close" onClick={onClose}>
          <X className="size-4" />
        </IconButton>
      </header>
      <div
        data-body=""
        tabIndex={-1}
        className={`outline-none ${at === 'left' ? 'py-2' : 'px-5 py-4 max-md:px-4'}`}
      >
        <PopoverPlace value={place}>{children}</PopoverPlace>
      </div>
    </dialog>
  );
}

/** The acts of a dialog, in sight however long it is. */
export function DialogFooter({ children }: { children: ReactNode }) {
  return (
    <div className="sticky bottom-0 -mx-5 -mb-4 flex flex-wrap justify-end gap-2 border-t border-line bg-raised px-5 py-3 max-md:-mx-4 max-md:px-4">
      {children}
    </div>
  );
}

/** Content that comes after the dialog has opened: it finds its place empty, so that the acts below stand still. */
export function DialogPlace({ children }: { children: ReactNode }) {
  return <div className="min-h-40">{children}</div>;
}

interface ConfirmProps {
  readonly title: string;
  /** What will happen, and whether it can be undone. */
  readonly children: ReactNode;
  readonly confirm: string;
  /** The text to type before an act that cannot be undone. */
  readonly typed?: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks for confirmation; an act that cannot be undone has to be typed. */
export function ConfirmDialog({ title, children, confirm, typed, onConfirm, onClose }: ConfirmProps) {
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const submit = async () => {
    setBusy(true);
    setFailure(null);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
        className="space-y-4"
      >
        <div className="space-y-2">{children}</div>
        {typed !== undefined && (
          <Field
            label={`Type ${typed} to continue`}
            value={text}
            onChange={(e) => setText(e.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        )}
        {failure && (
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            {failure}
          </p>
        )}
        <DialogFooter>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="danger" busy={busy} disabled={typed !== undefined && text !== typed}>
            {confirm}
          </Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}
