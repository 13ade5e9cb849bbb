import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

/** A dialog with a form, whose refusal is shown above its buttons. */
export function FormDialog({
  title,
  lead,
  submit,
  tone = 'danger',
  wide = false,
  busy,
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
  /** `primary` where submitting changes nothing yet. */
  tone?: 'primary' | 'danger';
  wide?: boolean;
  busy: boolean;
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
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone={tone} busy={busy}>
            {submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
