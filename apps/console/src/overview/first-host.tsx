import { useMutation } from '@tanstack/react-query';
import type { CreatedRegistrationToken } from '@tidegate/protocol/enrolment-api';
import { Plug } from 'lucide-react';
import { post } from '../api/client.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { EmptyState } from '../ui/states.tsx';

export interface NewToken {
  readonly token: CreatedRegistrationToken;
  readonly InstallPanel: typeof import('../enrolment/install-panel.tsx').InstallPanel;
}

/** Shown before there is a host: the command that enrols the first one, and the wait for it. */
export function FirstHost({
  mayAdd,
  token,
  onToken,
}: {
  mayAdd: boolean;
  token: NewToken | null;
  onToken: (token: NewToken | null) => void;
}) {
  const create = useMutation({
    mutationFn: async () => {
      // Before there is a token, which is shown only once.
      const { InstallPanel } = await import('../enrolment/install-panel.tsx');
      const token = await withStepUp(() =>
        post<CreatedRegistrationToken>('/api/v1/admin/registration-tokens', { label: 'first host' }),
      );
      return { token, InstallPanel };
    },
    onSuccess: onToken,
  });
  if (token) return <token.InstallPanel token={token.token} onClose={() => onToken(null)} />;
  return (
    <div className="rounded-xl border border-line bg-surface">
      <EmptyState
        title="No host has joined yet"
        action={
          mayAdd && (
            <Button
              tone="primary"
              busy={create.isPending}
              icon={<Plug aria-hidden="true" className="size-4" />}
              onClick={() => create.mutate()}
            >
              Show the line for the first host
            </Button>
          )
        }
      >
        <p>
          {mayAdd
            ? 'A host joins by one line, pasted into a root shell. It contains a token for one host that expires in a day.'
            : 'Only admins can add hosts.'}
        </p>
        <p className="mt-2">
          To look around first, run <CopyText text="npm run demo" label="Copy the command" /> in a copy of the
          repository: a demo fleet with 30 days of history, apart from the data of this server.
        </p>
        {create.error && (
          <p role="alert" className="mt-2 text-bad">
            {create.error.message}
          </p>
        )}
      </EmptyState>
    </div>
  );
}
