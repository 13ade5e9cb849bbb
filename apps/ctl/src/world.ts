import type { Environment } from '@tidegate/protocol/proxy-route';

/** What a command may use of its process. */
export interface World {
  readonly env: Environment;
  readonly now: () => number;
  /** Characters of a line of the terminal; null: the output is none, and nothing is cut. */
  readonly columns: number | null;
  /** The result. */
  readonly out: (text: string) => void;
  /** The same without a line break; resolves when there is room for more. */
  readonly write: (text: string) => Promise<void>;
  /** Notes and errors. */
  readonly err: (text: string) => void;
  readonly stdin: AsyncIterable<Uint8Array | string>;
}
