import type { InputHTMLAttributes, ReactNode } from 'react';

/** One box with its words; `name` and `defaultChecked` in a form, `checked` and `onChange` elsewhere. */
export function CheckBox({
  children,
  ...input
}: Omit<InputHTMLAttributes<HTMLInputElement>, 'type' | 'className'> & { children: ReactNode }) {
  return (
    <label className="flex min-h-6 items-center gap-2">
      <input {...input} type="checkbox" className="size-4 shrink-0" />
      {children}
    </label>
  );
}
