import { useMutation } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type {
  PolicyChange,
  PolicyDetail,
  PolicyPreview,
  PolicyRequest,
} from '@tidegate/protocol/policies-api';
import { useEffect, useRef, useState } from 'react';
import { ApiError, post, put } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { Term } from '../glossary/term.tsx';
import { withStepUp } from '../login/step-up.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useNow } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { DraftReview } from './draft-review.tsx';
import { draftOf, draftToJudge, newDraft, requestOf } from './draft-rules.ts';
import { PolicyFields } from './policy-fields.tsx';
import { POLICIES } from './policy-rules.ts';

/** Publishes a policy, or a new version of one, after a look at what it would do. */
export function PublishPolicy({
  policy,
  onPublished,
  onClose,
}: {
  /** The version that is replaced; null for a new policy. */
  policy: PolicyDetail | null;
  onPublished: (id: string) => void;
  onClose: () => void;
}) {
  const now = useNow();
  const [draft, setDraft] = useState(() => (policy === null ? newDraft(now) : draftOf(policy, now)));
  const [reviewed, setReviewed] = useState<PolicyPreview | null>(null);
  const request = requestOf(draft);
  const publishing = useMutation({
    mutationFn: (body: PolicyRequest) => withStepUp(() => send(policy, body)),
    onSuccess: async ({ id, name }) => {
      toast(`The policy ${isolated(name)} is in force.`);
      onClose();
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      onPublished(id);
    },
    // What is wrong with a field is shown at the field.
    onError: (error) => {
      if (error instanceof ApiError && error.problem?.errors) setReviewed(null);
    },
  });
  const previewing = useMutation({
    mutationFn: (asked: PolicyRequest) => post<PolicyPreview>(`${POLICIES}/preview`, draftToJudge(asked)),
    onMutate: publishing.reset,
    onSuccess: setReviewed,
  });
  const error = publishing.error ?? previewing.error;
  const fields = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (error && reviewed === null)
      fields.current?.querySelector<HTMLElement>('[aria-invalid=true], [data-fault]')?.focus();
  }, [error, reviewed]);
  const title = policy === null ? 'Publish a policy' : `Change ${isolated(policy.name)}`;
  if (reviewed !== null)
    return (
      <FormDialog
        {...{ title, wide: true, busy: publishing.isPending, error: publishing.error?.message, onClose }}
        lead="Nothing is published yet. This is what it would do with what the server knows now."
        submit={policy === null ? 'Publish the policy' : `Publish version ${policy.version + 1}`}
        onSubmit={() => publishing.mutate(request)}
      >
        <DraftReview request={request} preview={reviewed} onBack={() => setReviewed(null)} />
      </FormDialog>
    );
  return (
    <FormDialog
      {...{ title, wide: true, tone: 'primary', busy: previewing.isPending, error: error?.message, onClose }}
      lead={
        <>
          The server signs the policy with you as its author. It approves in your name what the{' '}
          <Term of="gate">gate</Term> passes, until it ends, and stops if you lose the right to approve.
        </>
      }
      submit="Show what it would do"
      onSubmit={() => previewing.mutate(request)}
    >
      <div ref={fields} className="space-y-3">
        <PolicyFields
          draft={draft}
          error={error}
          onChange={(changes) => setDraft((before) => ({ ...before, ...changes }))}
        />
      </div>
    </FormDialog>
  );
}

function send(policy: PolicyDetail | null, body: PolicyRequest): Promise<PolicyDetail> {
  if (policy === null) return post<PolicyDetail>(POLICIES, body);
  const change: PolicyChange = { ...body, replaces: policy.sha256 };
  return put<PolicyDetail>(`${POLICIES}/${policy.id}`, change);
}
