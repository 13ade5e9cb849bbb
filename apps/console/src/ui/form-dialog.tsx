import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog, DialogFooter } from './dialog.tsx';

/** A dialog with a form, whose refusal is shown above its buttons. */
export function FormDialog({
  title,
  lead,
  submit,
  tone = 'primary',
  wide = false,
  busy,
  waits = false,
  error,
  onSubmit,
  onClose,
  children,
}: {
  title: string;
  /** What submitting means. */
  lead: ReactNode;
  /** The words of the button. */
  submit: string;
  /** `danger` where submitting takes something away, or changes hosts at once. */
  tone?: 'primary' | 'danger';
  wide?: boolean;
  busy: boolean;
  /** Whether what the dialog shows is still to come. */
  waits?: boolean;
  error: ReactNode;
  onSubmit: (form: FormData) => void;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <Dialog title={title} wide={wide} onClose={onClose}>
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit(new FormData(event.currentTarget));
        }}
      >
        <p className="text-muted">{lead}</p>
        {children}
        {error && (
          <div role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            {error}
          </div>
        )}
        <DialogFooter>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone={tone} busy={busy} waits={waits}>
            {submit}
          </Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}
