import type { DecideManyResult, Divergence } from '@tidegate/protocol/artifacts-api';
import { type FormEvent, useState } from 'react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { TextArea } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';

interface Props {
  readonly path: string;
  readonly divergences: readonly Divergence[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

type Choice = 'first' | 'all';

/** One choice and one reason for all that are selected; each is decided for itself. */
export function DecideManyDialog({ path, divergences, onDone, onClose }: Props) {
  const [choice, setChoice] = useState<Choice | null>(null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | undefined>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const reason = new FormData(event.currentTarget).get('reason');
    setBusy(true);
    setFailure(undefined);
    try {
      const decisions = divergences.map(({ id, hashes }) => ({
        ...{ id, accept: choice === 'all' ? 'all' : hashes[0]?.hash, confirm_count: hashes.length },
      }));
      const result = await withStepUp(() => post<DecideManyResult>(`${path}/decide`, { decisions, reason }));
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      const failed = result.failed.length;
      toast(
        `Decided: ${result.decided.length}.${failed > 0 ? ` Changed meanwhile, look again: ${failed}.` : ''}`,
      );
      onDone();
      onClose();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Decide ${divergences.length} divergences`} onClose={onClose}>
      <form className="space-y-4" onSubmit={(event) => void submit(event)}>
        <fieldset className="space-y-2">
          <legend className="font-medium">Which hash of each is the right one?</legend>
          <label className="flex min-h-6 items-center gap-2">
            <input
              type="radio"
              name="choice"
              className="size-4"
              checked={choice === 'first'}
              onChange={() => setChoice('first')}
            />
            The one that was told first; the others stay blocked
          </label>
          <label className="flex min-h-6 items-center gap-2">
            <input
              type="radio"
              name="choice"
              className="size-4"
              checked={choice === 'all'}
              onChange={() => setChoice('all')}
            />
            All that are listed
          </label>
        </fieldset>
        <TextArea
          label="Reason"
          name="reason"
          hint="What you compared them with; it stays in the events"
          required
          maxLength={4_096}
          error={failure}
        />
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" tone="danger" busy={busy} disabled={choice === null}>
            Decide all of them
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
