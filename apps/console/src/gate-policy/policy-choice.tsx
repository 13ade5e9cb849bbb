import { useMutation, useQuery } from '@tanstack/react-query';
import type {
  VulnerabilityPolicy,
  VulnerabilityPolicyChange,
  VulnerabilityPolicyState,
} from '@tidegate/protocol/vulnerability-policy-api';
import { useState } from 'react';
import { put } from '../api/client.ts';
import { oneQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { effectOf, omittedText, POLICIES } from './policy-rules.ts';

const PATH = '/api/v1/admin/vulnerability-policy';
/** The policy in force, with the numbers of the fleet. */
export const policyQuery = oneQuery<VulnerabilityPolicyState>('updates', PATH);
const KEYS = ['any', 'introduced'] as const satisfies readonly VulnerabilityPolicy[];

/** The question which vulnerabilities stop an update, with what each answer would do to this fleet. */
export function PolicyChoice() {
  const { data, error, refetch } = useQuery(policyQuery);
  if (data) return <Question state={data} />;
  return error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton rows={4} />;
}

function Question({ state }: { state: VulnerabilityPolicyState }) {
  const { may } = useSession();
  const [draft, setDraft] = useState<VulnerabilityPolicy | null>(null);
  const chosen = draft ?? state.policy;
  const save = useMutation({
    mutationFn: (body: VulnerabilityPolicyChange) =>
      withStepUp(() => put<VulnerabilityPolicyState>(PATH, body)),
    onSuccess: (next) => {
      queryClient.setQueryData(policyQuery.queryKey, next);
      setDraft(null);
      toast('The choice applies from the next approval on.');
    },
  });
  const isOpen = may('admin') && state.set_by !== 'environment';
  const isSame = chosen === state.policy && state.set_by === 'operator';
  return (
    <form
      className="space-y-3"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate({ policy: chosen });
      }}
    >
      <fieldset className="space-y-3" disabled={!isOpen}>
        <legend className="font-medium">Which known vulnerabilities stop an update?</legend>
        {KEYS.map((policy) => (
          <label key={policy} className="flex gap-2.5">
            <input
              type="radio"
              name="vulnerability-policy"
              className="mt-1 size-4 shrink-0"
              checked={chosen === policy}
              onChange={() => setDraft(policy)}
            />
            <span>
              <span className="block font-medium">{POLICIES[policy].label}</span>
              <span className="block">{effectOf(policy, state)}</span>
              <span className="block text-muted">{POLICIES[policy].meaning}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <p className="text-muted">{omittedText(state)}</p>
      <p className="text-muted">
        <SetBy state={state} />
      </p>
      {save.error && (
        <p role="alert" className="text-bad">
          {save.error.message} Nothing was changed.
        </p>
      )}
      {isOpen && (
        <Button type="submit" tone="primary" disabled={isSame} busy={save.isPending}>
          {state.set_by === 'default' ? 'Decide' : 'Save'}
        </Button>
      )}
    </form>
  );
}

function SetBy({ state: { set_by, changed_at, changed_by } }: { state: VulnerabilityPolicyState }) {
  switch (set_by) {
    case 'default':
      return 'Nobody has decided yet, so every known vulnerability stops an update.';
    case 'environment':
      return (
        <>
          <code>SERVICE_SUPPLY_CHAIN_VULNERABILITY_POLICY</code> sets this in the environment of the server.
        </>
      );
    case 'operator':
      return (
        <>
          Chosen by <bdi>{changed_by}</bdi>, <Time at={changed_at} />.
        </>
      );
  }
}
