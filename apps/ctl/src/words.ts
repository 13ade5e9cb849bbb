import type { OperationName } from '@tidegate/client/outcome';
import type { Call, Options } from '@tidegate/command-line/declare';
import type { Member, MemberWords } from './members.ts';

/** One way to call an operation: the hand-written part. The rest follows from the document. */
export interface Words extends MemberWords {
  /** The word after the group; empty for the group itself. */
  readonly act: string;
  /** Options that are operands, in order; the parameters of the path unless set. The last may be one of many. */
  readonly operands?: readonly string[];
  /** What it does, where the summary of the operation does not say it. */
  readonly means?: string;
  /** How an operand is shown, by option. */
  readonly called?: Readonly<Record<string, string>>;
  /** What options mean, where the common words do not fit. */
  readonly about?: Readonly<Record<string, string>>;
  /** Values of options that are not given. */
  readonly defaults?: (nowMs: number) => Readonly<Record<string, string | readonly string[]>>;
  /** What the `id` of the path may be given as. */
  readonly byName?: NamedKind;
}

/** What has a name beside its id. */
export type NamedKind = 'policy' | 'operator' | 'blackout';

/** The words with what follows from the document. */
export interface Declared {
  readonly operation: OperationName;
  readonly words: Words;
  readonly members: readonly Member[];
  readonly operands: readonly Member[];
  readonly call: Call & { readonly options: Options };
}
