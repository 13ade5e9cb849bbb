import { type Html, html } from '../platform/http/html-page.ts';

/** A number of the report with the mark of its rule at the end of the page. */
export interface Marked {
  /** `—` where nothing is known. */
  show(id: string): Html;
  value(id: string): number | null;
}

export function numberText(value: number | null): string {
  return value === null ? '—' : value.toLocaleString('en-GB');
}

export function day(time: string): string {
  return time.slice(0, 10);
}

export function minute(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)}`;
}

/** A name within a sentence or beside others: its letters turn the direction of nothing around it. */
export function bdi(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

export function listed(items: readonly Html[]): Html {
  const [first, ...others] = items;
  return others.reduce((all, one) => html`${all}, ${one}`, first ?? html``);
}
