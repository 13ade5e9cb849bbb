import { useQuery } from '@tanstack/react-query';
import type { Identities, OfferedProviders } from '@tidegate/protocol/identity-providers-api';
import { isolated } from '@tidegate/protocol/isolated';
import { remove } from '../api/client.ts';
import { oneQuery, queryClient } from '../api/queries.ts';
import { goToProvider } from '../login/provider-sign-in.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { Panel } from '../ui/page.tsx';
import { attempt, toast } from '../ui/toasts.tsx';

const PATH = '/api/v1/auth/identities';

/** The operator's accounts of identity providers; shown where there is a provider or an account. */
export function OwnIdentities() {
  const own = useQuery(oneQuery<Identities>('session', PATH)).data;
  const offered = useQuery(oneQuery<OfferedProviders>('session', '/api/v1/auth/providers')).data;
  const items = own?.items ?? [];
  const others = (offered?.items ?? []).filter(({ id }) => !items.some((one) => one.provider_id === id));
  if (items.length === 0 && others.length === 0) return null;
  const unbind = async (id: string) => {
    await withStepUp(() => remove(`${PATH}/${id}`));
    toast('The account is unbound; the sessions that it opened have ended.');
    await queryClient.invalidateQueries({ queryKey: ['session'] });
  };
  const bind = (id: string) => withStepUp(() => goToProvider(PATH, { provider_id: id, next: '/account' }));
  return (
    <Panel title="Identity providers">
      <ul className="space-y-2">
        {items.map(({ id, provider_name, subject }) => (
          <li key={id} className="flex flex-wrap items-center justify-between gap-2">
            <span className="min-w-0 break-all">
              <bdi>{provider_name}</bdi>: <span className="mono">{subject}</span>
            </span>
            <Button
              aria-label={`Unbind ${isolated(provider_name)}`}
              onClick={() => void attempt(() => unbind(id))}
            >
              Unbind
            </Button>
          </li>
        ))}
        {others.map(({ id, name }) => (
          <li key={id}>
            <Button onClick={() => void attempt(() => bind(id))}>
              Bind your account of <bdi>{name}</bdi>
            </Button>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
