import { X } from 'lucide-react';
import { type ReactNode, useSyncExternalStore } from 'react';
import { IconButton } from './button.tsx';

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: 'info' | 'bad';
  /** Undoes the act, or opens its result. */
  readonly action?: { readonly label: string; readonly run: () => void };
}

const SHOWN_MAX = 4;
const LIFETIME_MS = 8_000;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Shows the result of an act; an error stays until it is closed. */
export function toast(text: string, options: { tone?: 'info' | 'bad'; action?: Toast['action'] } = {}): void {
  const id = ++lastId;
  const { tone = 'info', action } = options;
  set([...toasts, { id, text, tone, ...(action ? { action } : {}) }].slice(-SHOWN_MAX));
  if (tone === 'info') setTimeout(() => dismiss(id), LIFETIME_MS);
}

/** Runs an act; if it fails, shows why and returns undefined. */
export async function attempt<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), { tone: 'bad' });
    return undefined;
  }
}

function dismiss(id: number): void {
  set(toasts.filter((one) => one.id !== id));
}

/** The live region in which toasts are shown and read out. */
export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div
      role="status"
      aria-live="polite"
      className="fixed right-4 bottom-4 z-50 flex w-[min(26rem,90vw)] flex-col gap-2"
    >
      {shown.map((one) => (
        <div
          key={one.id}
          className={`flex items-start gap-2 rounded-lg border px-3 py-2 shadow-float ${one.tone === 'bad' ? 'border-bad bg-bad-soft text-bad' : 'border-line bg-raised'}`}
        >
          <p className="min-w-0 flex-1 py-1 break-words">{one.text}</p>
          {one.action && (
            <button
              type="button"
              className="py-1 font-medium text-accent underline"
              onClick={() => {
                one.action?.run();
                dismiss(one.id);
              }}
            >
              {one.action.label}
            </button>
          )}
          <IconButton label="Dismiss" onClick={() => dismiss(one.id)}>
            <X className="size-4" />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
