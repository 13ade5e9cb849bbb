import type { Transaction } from 'kysely';
import type { CommitSteps, Tx } from './engine.ts';
import type { Tables } from './tables.ts';
import { emptyContext, type WriteContext } from './write-context.ts';

/** One attempt of a transaction: the work with an empty context, then the step before the commit. */
export async function runWork<T>(
  transaction: Transaction<Tables>,
  { beforeCommit, ...means }: Pick<CommitSteps, 'beforeCommit'> & Pick<Tx, 'seals' | 'run' | 'runEach'>,
  work: (tx: Tx) => Promise<T>,
): Promise<{ result: T; context: WriteContext }> {
  const context = emptyContext();
  const tx: Tx = Object.assign(transaction, { ...means, context });
  const result = await work(tx);
  await beforeCommit(tx);
  return { result, context };
}
