import { type Static, Type } from 'typebox';
import { nullable, strict } from './scalars.ts';

/** Longest recurrence rule. */
export const RRULE_MAX_CHARS = 256;
/** Longest window, in minutes: a week. */
export const WINDOW_MAX_MINUTES = 10_080;
/** Most dates that a schedule leaves out by name. */
export const EXCEPT_MAX_DATES = 100;

/** A date in the zone of its schedule. The pattern admits 30 February; the rules of the server refuse it. */
const PlainDate = Type.String({
  pattern: '^(19[7-9]\\d|20\\d\\d|21\\d\\d)-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
  minLength: 10,
  maxLength: 10,
  description: 'date from 1970 to 2199, such as 2027-03-28',
});

/**
 * When a window or a blackout is open. The rule names dates alone; each date starts at the wall time `start` in `zone`
 * and lasts `duration_minutes` of elapsed time, whatever the clocks do. A start that the clocks skip moves forward by
 * what they skip; of a start that happens twice, the first counts.
 */
export const Schedule = strict({
  /** RFC 5545, without times and without `RRULE:`; null: once, on `starts_on`. */
  rrule: nullable(
    Type.String({
      minLength: 1,
      maxLength: RRULE_MAX_CHARS,
      description: 'iCalendar recurrence of dates, such as FREQ=MONTHLY;BYDAY=2TU',
    }),
  ),
  /** No date before this one, from which intervals are counted. It is itself a date only if the rule names it. */
  starts_on: PlainDate,
  start: Type.String({
    pattern: '^([01]\\d|2[0-3]):[0-5]\\d$',
    minLength: 5,
    maxLength: 5,
    description: 'wall time, such as 02:30',
  }),
  zone: Type.String({
    pattern: '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$',
    minLength: 1,
    maxLength: 64,
    description: 'IANA time zone, such as Europe/Berlin',
  }),
  duration_minutes: Type.Integer({ minimum: 1, maximum: WINDOW_MAX_MINUTES }),
  /** Dates of the rule on which nothing starts. */
  except: Type.Optional(Type.Array(PlainDate, { maxItems: EXCEPT_MAX_DATES, uniqueItems: true })),
});
export type Schedule = Static<typeof Schedule>;
