import type { Act } from './act.ts';

/** What is kept under one word: its acts share the subject. */
export interface Group {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Paragraphs below the calls. */
  readonly about?: string;
  readonly acts: readonly Act[];
}
