import { useQuery } from '@tanstack/react-query';
import type {
  IdentityProvider,
  ProviderCheck,
  ProviderTest,
} from '@tidegate/protocol/identity-providers-api';
import { isolated } from '@tidegate/protocol/isolated';
import { CircleCheck, CircleDashed, CircleX, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { post } from '../api/client.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Dialog, DialogFooter, DialogPlace } from '../ui/dialog.tsx';

const OUTCOMES: Readonly<Record<ProviderCheck['outcome'], { tone: BadgeTone; icon: ReactNode }>> = {
  passed: { tone: 'good', icon: <CircleCheck /> },
  failed: { tone: 'bad', icon: <CircleX /> },
  warning: { tone: 'warn', icon: <TriangleAlert /> },
  skipped: { tone: 'neutral', icon: <CircleDashed /> },
};

/** What works with a provider, and what is wrong, in words. */
export function ProviderTestDialog({
  provider: { id, name },
  onClose,
}: {
  provider: IdentityProvider;
  onClose: () => void;
}) {
  const test = useQuery({
    queryKey: ['provider test', id],
    queryFn: () => withStepUp(() => post<ProviderTest>(`/api/v1/admin/identity-providers/${id}/test`)),
    ...{ staleTime: 0, gcTime: 0, retry: false, refetchInterval: false, refetchOnWindowFocus: false },
  });
  return (
    <Dialog title={`Test of ${isolated(name)}`} onClose={onClose}>
      <div className="space-y-4" aria-busy={test.isFetching}>
        <DialogPlace>
          <div className="space-y-4">
            {test.isFetching && <p role="status">Asking the provider …</p>}
            {test.error && (
              <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
                {test.error.message}
              </p>
            )}
            {test.data && !test.isFetching && (
              <>
                <ul className="space-y-2">
                  {test.data.checks.map(({ check, outcome, text }) => (
                    <li key={check} className="flex flex-wrap items-start gap-x-3 gap-y-1">
                      <span className="w-24 font-medium">{check}</span>
                      <Badge tone={OUTCOMES[outcome].tone} icon={OUTCOMES[outcome].icon}>
                        {outcome}
                      </Badge>
                      <span className="min-w-0 basis-60 grow break-words">{text}</span>
                    </li>
                  ))}
                </ul>
                <p>
                  Redirect URI: <CopyText text={test.data.redirect_uri} />
                </p>
              </>
            )}
          </div>
        </DialogPlace>
        <DialogFooter>
          <Button onClick={() => void test.refetch()} busy={test.isFetching}>
            Test again
          </Button>
          <Button tone="primary" onClick={onClose}>
            Done
          </Button>
        </DialogFooter>
      </div>
    </Dialog>
  );
}
