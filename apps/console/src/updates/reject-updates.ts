import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { toast } from '../ui/toasts.tsx';

const pathOf = (id: string, verb: 'reject' | 'reopen') => `/api/v1/updates/${id}/${verb}`;

/** Rejects updates one by one; the toast can undo it. Each refusal is shown with its reason. */
export async function rejectUpdates(
  updates: readonly Pick<UpdateItem, 'id' | 'name' | 'hostname'>[],
  reason?: string,
): Promise<void> {
  const done: string[] = [];
  for (const { id, name, hostname } of updates) {
    try {
      await post(pathOf(id, 'reject'), reason ? { reason } : {});
      done.push(id);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      toast(`${isolated(name)} on ${isolated(hostname)}: ${why}`, { tone: 'bad' });
    }
  }
  await queryClient.invalidateQueries({ queryKey: ['updates'] });
  if (done.length === 0) return;
  const [only] = updates;
  const what =
    done.length === 1 && updates.length === 1 && only
      ? `${isolated(only.name)} on ${isolated(only.hostname)} is`
      : `${counted(done.length, 'update')} are`;
  toast(`${what} rejected.`, { action: { label: 'Undo', run: () => void reopenUpdates(done) } });
}

/** Returns updates to pending; this also withdraws an approval. */
export async function reopenUpdates(ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    try {
      await post(pathOf(id, 'reopen'), {});
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), { tone: 'bad' });
    }
  }
  await queryClient.invalidateQueries({ queryKey: ['updates'] });
}
