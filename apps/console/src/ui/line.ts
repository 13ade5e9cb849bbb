/** One line of a chart. */
export interface Line {
  readonly id: string;
  readonly word: string;
  /** The class of a text colour. */
  readonly tone: string;
  /** Dashes in pixels, so that lines can be told apart without colour. */
  readonly dash?: readonly number[];
  /** One for each day; null is a gap. */
  readonly values: readonly (number | null)[];
}
