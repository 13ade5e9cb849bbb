import type { ButtonHTMLAttributes, MouseEvent, ReactNode } from 'react';

type Tone = 'plain' | 'primary' | 'danger' | 'quiet';

const TONES: Readonly<Record<Tone, string>> = {
  plain: 'border border-line-strong/60 bg-raised hover:bg-sunken text-text',
  primary: 'bg-accent-fill text-on-accent hover:brightness-110',
  danger: 'bg-bad-fill text-on-accent hover:brightness-110',
  quiet: 'text-muted hover:bg-sunken hover:text-text',
};

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly tone?: Tone;
  readonly icon?: ReactNode;
  /** The key that does the same, shown beside the label. */
  readonly shortcut?: string | undefined;
  readonly busy?: boolean;
  /** Whether it cannot be used yet; it keeps the focus. */
  readonly waits?: boolean;
  /** Lets a label that is a sentence take more than one line. */
  readonly wraps?: boolean;
}

/** A button; while it is busy it is disabled and says so. */
export function Button({
  tone = 'plain',
  icon,
  shortcut,
  busy = false,
  waits = false,
  wraps = false,
  children,
  ...rest
}: Props) {
  return (
    <button
      type="button"
      {...rest}
      disabled={busy || rest.disabled}
      aria-busy={busy}
      {...(waits ? { 'aria-disabled': true, onClick: refuse } : {})}
      className={`inline-flex min-h-8 items-center justify-center gap-1.5 max-md:min-h-11 rounded-md px-3 py-1 font-medium ${wraps ? 'wrap-anywhere' : 'sm:whitespace-nowrap'} disabled:opacity-55 aria-disabled:opacity-55 ${TONES[tone]} ${rest.className ?? ''}`}
    >
      {icon}
      {children}
      {busy && (
        <span
          aria-hidden="true"
          className="inline-block size-3 animate-spin rounded-full border-2 border-current border-r-transparent"
        />
      )}
      {shortcut && (
        <span className="max-md:hidden">
          <Kbd text={shortcut} />
        </span>
      )}
    </button>
  );
}

/** Also keeps a form from being sent. */
function refuse(event: MouseEvent): void {
  event.preventDefault();
}

/**
 * A button with only an icon: its name is read out and shown on hover. A phone has no hover: where the icon alone does not
 * say it, `word`, a part of the name, stands beside it there.
 */
export function IconButton({
  label,
  word,
  children,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { label: string; word?: string }) {
  return (
    <button
      type="button"
      {...rest}
      aria-label={label}
      title={label}
      className={`inline-flex size-8 items-center ${word ? WITH_WORD : 'max-md:size-11'} justify-center rounded-md text-muted hover:bg-sunken hover:text-text disabled:opacity-50 ${rest.className ?? ''}`}
    >
      {children}
      {word && <span className="md:hidden">{word}</span>}
    </button>
  );
}

const WITH_WORD = 'max-md:h-11 max-md:w-auto max-md:gap-1.5 max-md:px-3';

export function Kbd({ text }: { text: string }) {
  return (
    <kbd className="rounded border border-current/40 px-1 whitespace-nowrap font-sans text-[0.72rem] leading-4 font-normal">
      {text}
    </kbd>
  );
}
