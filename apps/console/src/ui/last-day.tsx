import { dayFrom } from './day-rules.ts';
import { Field } from './field.tsx';
import { useNow } from './time.tsx';

const DAYS_MAX = 364;

/** The last day of something that the server lets live for at most a year; its value is a UTC day. */
export function LastDay({
  label,
  name,
  days,
  error,
}: {
  label: string;
  name: string;
  /** Proposed, from today. */
  days: number;
  error?: string | undefined;
}) {
  const now = useNow();
  return (
    <Field
      {...{ label, name, type: 'date', required: true, error }}
      {...{ min: dayFrom(now, 0), max: dayFrom(now, DAYS_MAX), defaultValue: dayFrom(now, days) }}
      hint="A day in UTC, at most a year from now."
    />
  );
}
