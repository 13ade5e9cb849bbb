import { useMutation, useQuery } from '@tanstack/react-query';
import type { RateLimits, RateLimitsChange } from '@tidegate/protocol/rate-limits-api';
import { RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { ApiError, post, put } from '../api/client.ts';
import { oneQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState, ErrorPanel, Skeleton } from '../ui/states.tsx';
import { toast } from '../ui/toasts.tsx';
import { changesOf, type Draft, limitFaults, NO_DRAFT } from './limit-rules.ts';
import { LimitsTable } from './limits-table.tsx';
import { PenaltyLine } from './penalty-line.tsx';

const PATH = '/api/v1/admin/rate-limits';
const limitsQuery = oneQuery<RateLimits>('limits', PATH);

/** The request budgets: a change applies from the next request on and survives a restart. */
export function RateLimitsPage() {
  const { may } = useSession();
  return may('admin') ? (
    <Limits />
  ) : (
    <Page title="Rate limits">
      <EmptyState title="Only admins can see the rate limits" />
    </Page>
  );
}

function Limits() {
  const { data, error, isPending, refetch } = useQuery(limitsQuery);
  const [draft, setDraft] = useState<Draft>(NO_DRAFT);
  const [isResetting, setResetting] = useState(false);
  const save = useMutation({
    mutationFn: (body: RateLimitsChange) => withStepUp(() => put<RateLimits>(PATH, body)),
    onSuccess: (limits) => {
      show(limits);
      setDraft(NO_DRAFT);
      toast('The limits are in force.');
    },
  });
  const change = data ? changesOf(draft, data.classes) : null;
  const errors = save.error instanceof ApiError ? (save.error.problem?.errors ?? []) : [];
  return (
    <Page
      title="Rate limits"
      lead="Requests beyond a budget are refused (429) until the window has moved on. A limit never ends a host's enrolment."
      actions={
        <Button icon={<RotateCcw aria-hidden="true" className="size-4" />} onClick={() => setResetting(true)}>
          Reset to the defaults
        </Button>
      }
    >
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && (
        <div className="rounded-xl border border-line bg-surface">
          <Skeleton as="rows" rows={11} />
        </div>
      )}
      {data && (
        <>
          <PenaltyLine penalty={data.startup_penalty} />
          <form
            noValidate
            className="rounded-xl border border-line bg-surface"
            onSubmit={(event) => {
              event.preventDefault();
              if (change) save.mutate(change);
            }}
          >
            <LimitsTable
              classes={data.classes}
              draft={draft}
              faults={limitFaults(errors)}
              onDraft={setDraft}
            />
            <footer className="flex flex-wrap items-center justify-end gap-2 border-t border-line px-3 py-2.5">
              {save.error && (
                <p role="alert" className="mr-auto text-bad">
                  {save.error.message} Nothing was changed.
                </p>
              )}
              <Button
                disabled={change === null}
                onClick={() => {
                  setDraft(NO_DRAFT);
                  save.reset();
                }}
              >
                Discard
              </Button>
              <Button type="submit" tone="primary" disabled={change === null} busy={save.isPending}>
                Save
              </Button>
            </footer>
          </form>
        </>
      )}
      {isResetting && (
        <ConfirmDialog
          title="Reset all limits"
          confirm="Reset all limits"
          onClose={() => setResetting(false)}
          onConfirm={async () => {
            const before = data?.classes;
            show(await withStepUp(() => post<RateLimits>(`${PATH}/reset`)));
            setDraft(NO_DRAFT);
            save.reset();
            toast('The default limits are in force.', {
              ...(before ? { action: { label: 'Undo', run: () => save.mutate({ classes: before }) } } : {}),
            });
          }}
        >
          <p>All budgets return to their default values.</p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

function show(limits: RateLimits): void {
  queryClient.setQueryData(limitsQuery.queryKey, limits);
}
