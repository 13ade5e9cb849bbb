import { Link } from '@tanstack/react-router';
import type { Divergence } from '@tidegate/protocol/artifacts-api';
import { type FormEvent, useState } from 'react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { TextArea } from '../ui/field.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

interface Props {
  readonly path: string;
  readonly divergence: Divergence;
  readonly canDecide: boolean;
  readonly onClose: () => void;
}

/** The hashes with who told them, and the choice of the right one; nothing is chosen beforehand. */
export function DecideDialog({ path, divergence, canDecide, onClose }: Props) {
  const { id, name, version, hashes } = divergence;
  const [accept, setAccept] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | undefined>();
  const decide = async (reason: FormDataEntryValue | null) => {
    setBusy(true);
    setFailure(undefined);
    try {
      const body = { accept, reason, confirm_count: hashes.length };
      await withStepUp(() => post<Divergence>(`${path}/${id}/decide`, body));
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      toast(`Decided: ${name}@${version}.`);
      onClose();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void decide(new FormData(event.currentTarget).get('reason'));
  };
  return (
    <Dialog title={`${name}@${version}`} onClose={onClose} wide>
      <form className="space-y-4" onSubmit={submit}>
        <p>
          Find out which file is the one that its authors released before you decide: compare the hash with
          the registry or repository itself, from a machine that you trust. A hash that is not accepted stays
          blocked.
        </p>
        <fieldset className="space-y-2">
          <legend className="font-medium">Which hash is the right one?</legend>
          {hashes.map(({ hash, standing, agent_id: agentId, url, origin, seen_at: at }) => (
            <div key={hash} className="flex items-start gap-2 rounded-lg border border-line px-3 py-2">
              <input
                type="radio"
                name="accept"
                className="mt-1 size-4 shrink-0"
                aria-label={`Accept ${hash.slice(0, 12)}`}
                disabled={!canDecide}
                checked={accept === hash}
                onChange={() => setAccept(hash)}
              />
              <div className="min-w-0 space-y-0.5">
                <CopyText text={hash} label="Copy the hash" />
                <p className="break-all text-muted">
                  {standing}; told by{' '}
                  <Link to="/hosts/$id" params={{ id: agentId }}>
                    this host
                  </Link>{' '}
                  <Time at={at} />, from <span className="mono">{url}</span>
                  {origin !== null && ` (${origin})`}
                </p>
              </div>
            </div>
          ))}
          {canDecide && (
            <label className="flex min-h-6 items-center gap-2 px-3">
              <input
                type="radio"
                name="accept"
                className="size-4"
                checked={accept === 'all'}
                onChange={() => setAccept('all')}
              />
              All of them are right, such as builds of one version by two repositories
            </label>
          )}
        </fieldset>
        {divergence.reason !== null && (
          <p className="text-muted">
            Decided by {divergence.decided_by} <Time at={divergence.decided_at} />: {divergence.reason}
          </p>
        )}
        {canDecide && (
          <TextArea
            label="Reason"
            name="reason"
            hint="What you compared it with; it stays in the events"
            required
            maxLength={4_096}
            error={failure}
          />
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          {canDecide && (
            <Button type="submit" tone="danger" busy={busy} disabled={accept === null}>
              {accept === 'all' ? 'Accept all hashes' : 'Accept this hash, block the others'}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
