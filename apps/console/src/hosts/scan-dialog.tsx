import { useMutation } from '@tanstack/react-query';
import { counted } from '@tidegate/protocol/count-words';
import { useRef, useState } from 'react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Dialog, DialogFooter } from '../ui/dialog.tsx';
import { toast } from '../ui/toasts.tsx';
import { type Asked, askEach } from './ask-each.ts';

/** Requests a scan from each host, with progress and refusals. */
export function ScanDialog({ ids, onClose }: { ids: readonly string[]; onClose: () => void }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const abort = useRef<AbortController | null>(null);
  const scan = useMutation({
    mutationFn: () => {
      const aborting = new AbortController();
      abort.current = aborting;
      const act = (id: string) => post(`/api/v1/agents/${id}/scan`);
      return askEach(ids, { act, signal: aborting.signal, onProgress: setAsked });
    },
    onSuccess: ({ done, refused }) => {
      void queryClient.invalidateQueries({ queryKey: ['commands'] });
      if (refused.length > 0) return;
      toast(
        done === 1
          ? '1 host will scan at its next check-in.'
          : `${done} hosts will scan at their next check-in.`,
      );
      onClose();
    },
  });
  const close = () => {
    abort.current?.abort();
    onClose();
  };
  const refused = asked?.refused ?? [];
  const isDone = scan.isSuccess;
  return (
    <Dialog title={`Scan ${counted(ids.length, 'host')}`} onClose={close}>
      <div className="space-y-4">
        <p>Each host scans at its next check-in and reports its packages and available updates.</p>
        {asked && (
          <div role="status">
            <progress className="w-full" max={ids.length} value={asked.done} aria-label="Requested" />
            <p>
              {asked.done - refused.length} requested, {refused.length} refused, {ids.length - asked.done}{' '}
              left
            </p>
          </div>
        )}
        {refused.length > 0 && (
          <ul className="max-h-64 space-y-1 overflow-y-auto">
            {refused.map(({ id, why }) => (
              <li key={id}>
                <CopyText text={id} short={`${id.slice(0, 10)}…`} label="Copy the host id" /> {why}
              </li>
            ))}
          </ul>
        )}
        <DialogFooter>
          <Button onClick={close}>{isDone ? 'Close' : 'Cancel'}</Button>
          {!isDone && (
            <Button tone="primary" busy={scan.isPending} onClick={() => scan.mutate()}>
              Scan now
            </Button>
          )}
        </DialogFooter>
      </div>
    </Dialog>
  );
}
