import { narrativeOf } from '@tidegate/protocol/event-narratives';
import { SEVERITIES, type Severity } from '@tidegate/protocol/event-types';
import { isolated, withoutLoneMarks } from '@tidegate/protocol/isolated';
import { rfc3339 } from '../platform/clock.ts';
import type { Message } from './channels/message.ts';
import { visibleText } from './channels/render-message.ts';
import { countedEvents } from './count-words.ts';
import { type KnownEvent, updateIdsOf, worstOf } from './match-rules.ts';

const SUBJECT_MAX_CHARS = 200;
/** Items of all sections of a message. */
export const ITEMS_MAX = 100;
const ITEM_TEXT_MAX_CHARS = 400;
/** Events as the JSON of a payload, in UTF-8. */
const PAYLOAD_MAX_BYTES = 180_000;

const TITLES: Readonly<Record<Severity, string>> = {
  ...{ critical: 'Critical', error: 'Errors', warning: 'Warnings', info: 'For information' },
};

export type Sections = Message['sections'];

/** Where links lead; null without SERVICE_BASE_URL, and then there are none. */
export type Base = string | null;

/** One event as a webhook gets it. */
export interface EventPayload {
  readonly id: string;
  readonly type: string;
  readonly severity: string;
  readonly at: string;
  readonly text: string;
  readonly actor: string | null;
  readonly host: { readonly id: string; readonly name: string; readonly group: string | null } | null;
  readonly update_ids: readonly string[];
}

export function eventPayload(event: KnownEvent): EventPayload {
  const { id, type, severity, actor, host } = event;
  const text = oneLine(narrativeOf(event));
  return {
    id,
    type,
    severity,
    at: rfc3339(event.atMs),
    text,
    actor,
    host,
    update_ids: updateIdsOf(event.content),
  };
}

/** As many of the first events as fit one message: at least one. */
export function fittingEvents(events: readonly KnownEvent[]): KnownEvent[] {
  let bytes = 0;
  const cutAt = events.findIndex((event, i) => {
    bytes += Buffer.byteLength(JSON.stringify(eventPayload(event))) + 1;
    return i > 0 && bytes > PAYLOAD_MAX_BYTES;
  });
  return cutAt < 0 ? [...events] : events.slice(0, cutAt);
}

/** The parts of a message about events that share no time with its sending: the same events give the same parts. */
export function describeEvents(
  events: readonly KnownEvent[],
  { base }: { base: Base },
): Pick<Message, 'subject' | 'severity' | 'summary' | 'sections'> {
  const severity = worstOf(events.map((event) => event.severity));
  const worstFirst = SEVERITIES.toReversed().flatMap((one) => {
    const some = events.filter((event) => event.severity === one);
    return some.length > 0 ? [{ severity: one, some }] : [];
  });
  const first = worstFirst[0]?.some[0];
  const counts = countedEvents(events.map((event) => event.severity));
  const others = events.length - 1;
  const lead = first ? lineOf(first) : '';
  const subject = others > 0 ? `${counts}. First: ${lead}` : lead;
  const listed = worstFirst.map(({ severity: one, some }) => ({
    title: TITLES[one],
    items: some.map((event) => ({
      text: lineOf(event),
      link: base === null ? null : `${base}/events/${event.id}`,
    })),
  }));
  return {
    subject: subjectOf(subject),
    severity,
    summary: others > 0 ? `${counts}.` : lead,
    sections: boundedSections(listed),
  };
}

/** At most ITEMS_MAX items in all; each section says how many it leaves out. */
export function boundedSections(sections: Sections): Sections {
  let left = ITEMS_MAX - sections.length;
  return sections.map(({ title, items }) => {
    const shown = items.slice(0, Math.max(0, left)).map(({ text, link }) => ({ text: oneLine(text), link }));
    left -= shown.length;
    const more = items.length - shown.length;
    const rest = more > 0 ? [{ text: `and ${more.toLocaleString('en')} more`, link: null }] : [];
    return { title, items: [...shown, ...rest] };
  });
}

export function subjectOf(text: string): string {
  return cut(flat(text), SUBJECT_MAX_CHARS);
}

function lineOf(event: KnownEvent): string {
  const told = narrativeOf(event);
  if (event.host === null) return oneLine(told);
  const named = isolated(event.host.name);
  return oneLine(told.startsWith(named) ? told : `${named}: ${told}`);
}

function oneLine(text: string): string {
  return cut(flat(text), ITEM_TEXT_MAX_CHARS);
}

function flat(text: string): string {
  return visibleText(text).replace(/\s+/gu, ' ').trim();
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const kept = text
    .slice(0, most - 2)
    .toWellFormed()
    .trimEnd();
  // Names within are isolated: what a cut opens is closed again.
  return `${withoutLoneMarks(kept)}…`;
}
