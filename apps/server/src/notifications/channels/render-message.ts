import { withoutLoneMarks } from '@tidegate/protocol/isolated';
import type { Message } from './message.ts';

/** How a service takes text: how long it may be, how it is counted, and what acts as markup. */
export interface Medium {
  readonly maxLength: number;
  readonly lengthOf: (text: string) => number;
  readonly escape: (text: string) => string;
}

/** Longest line of a message, in characters, before it is escaped. */
const LINE_MAX_CHARS = 400;
/** Room for "… and 1234 more" and the breaks around it. */
const TAIL_LENGTH = 40;
/** Control, invisible and bidirectional characters, and what breaks a line; not the isolates around names. */
const UNSEEN = /(?:(?![\u2068\u2069])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}])+/gu;

/** What programs make links by: a scheme, "www.", and a domain before a path or a port. Names of hosts are domains alone. */
const LINKED = /:(?=\/\/)|(?<=\bwww)\.|(?<=[\p{L}\p{N}])\.(?=\p{L}[\p{L}\p{N}-]{1,62}(?::\d|[/?#]))/giu;

export const utf16Length = (text: string) => text.length;
export const utf8Length = (text: string) => Buffer.byteLength(text);
export const asIs = (text: string) => text;

/** Without characters that nobody sees. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, ' ');
}

/** One line of at most so many characters, without characters that nobody sees, in which every isolate ends. */
export function visibleLine(text: string, maxChars = LINE_MAX_CHARS): string {
  const line = withoutLoneMarks(visibleText(text).trim());
  const chars = [...line];
  if (chars.length <= maxChars) return line;
  for (let kept = maxChars - 1; kept > 0; kept--) {
    const start = withoutLoneMarks(chars.slice(0, kept).join(''));
    if ([...start].length < maxChars) return `${start}…`;
  }
  return '…';
}

/** A line of a message. Hosts and people wrote parts of it: what it names is no link, unlike the link of the server. */
export function shownLine(text: string): string {
  return visibleLine(text.replace(LINKED, '[$&]'));
}

/** The escaped start of a line that fits: cut before it is escaped, so that no escape is cut in two. */
export function fitLine(text: string, medium: Medium): string {
  let line = shownLine(text);
  while (medium.lengthOf(medium.escape(line)) > medium.maxLength)
    line = visibleLine(line, [...line].length - 1);
  return medium.escape(line);
}

/** Summary, sections and link: what fits, and how many lines were left out. */
export function renderBody(message: Message, medium: Medium): string {
  const link = message.link === null ? '' : `\n\n${message.link}`;
  const room = medium.maxLength - medium.lengthOf(link) - TAIL_LENGTH;
  const lines = linesOf(message, medium);
  const kept: string[] = [];
  let used = 0;
  for (const { text } of lines) {
    used += medium.lengthOf(text) + 1;
    if (used > room) break;
    kept.push(text);
  }
  const leftOut = lines.slice(kept.length).filter(({ isItem }) => isItem).length;
  const tail = leftOut > 0 ? `\n… and ${leftOut} more` : '';
  return `${kept.join('\n').trimEnd()}${tail}${link}`.trim();
}

/** Subject and body as one text. */
export function renderText(message: Message, medium: Medium): string {
  const subject = medium.escape(shownLine(message.subject));
  const room = medium.maxLength - medium.lengthOf(subject) - 2;
  return `${subject}\n\n${renderBody(message, { ...medium, maxLength: room })}`.trim();
}

interface Line {
  readonly text: string;
  readonly isItem: boolean;
}

function linesOf({ summary, sections }: Message, medium: Medium): Line[] {
  const line = (text: string) => medium.escape(shownLine(text));
  const lines: Line[] = summary
    .split('\n')
    .filter((text) => text.trim() !== '')
    .map((text) => ({ text: line(text), isItem: true }));
  for (const { title, items } of sections) {
    lines.push({ text: '', isItem: false }, { text: line(title), isItem: false });
    for (const { text } of items) lines.push({ text: `• ${line(text)}`, isItem: true });
  }
  return lines;
}
