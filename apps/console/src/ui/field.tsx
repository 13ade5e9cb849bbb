import { type ComponentProps, type SelectHTMLAttributes, useId } from 'react';

const BOX =
  'w-full rounded-md border border-line-strong bg-surface px-2.5 py-1.5 text-text min-h-9 aria-invalid:border-bad';

interface Labelled {
  readonly label: string;
  /** What is allowed, or what it is for. */
  readonly hint?: string | undefined;
  /** The server's message about the value. */
  readonly error?: string | undefined;
}

function Frame({ id, label, hint, error, children }: Labelled & { id: string; children: React.ReactNode }) {
  return (
    <div className="space-y-1">
      <label htmlFor={id} className="block font-medium">
        {label}
      </label>
      {children}
      {hint && (
        <p id={`${id}-hint`} className="text-[0.9rem] text-muted">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="text-[0.9rem] text-bad">
          {error}
        </p>
      )}
    </div>
  );
}

function described(id: string, { hint, error }: Omit<Labelled, 'label'>) {
  const ids = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return { id, 'aria-invalid': error !== undefined, ...(ids ? { 'aria-describedby': ids } : {}) };
}

export function Field({ label, hint, error, ...rest }: Labelled & ComponentProps<'input'>) {
  const id = useId();
  return (
    <Frame {...{ id, label, hint, error }}>
      <input
        {...rest}
        {...described(id, { hint, error })}
        className={`${BOX} leading-5 ${rest.className ?? ''}`}
      />
    </Frame>
  );
}

export function TextArea({ label, hint, error, ...rest }: Labelled & ComponentProps<'textarea'>) {
  const id = useId();
  return (
    <Frame {...{ id, label, hint, error }}>
      <textarea rows={3} {...rest} {...described(id, { hint, error })} className={BOX} />
    </Frame>
  );
}

export function Select({
  label,
  hint,
  error,
  children,
  ...rest
}: Labelled & SelectHTMLAttributes<HTMLSelectElement>) {
  const id = useId();
  return (
    <Frame {...{ id, label, hint, error }}>
      <select {...rest} {...described(id, { hint, error })} className={BOX}>
        {children}
      </select>
    </Frame>
  );
}
