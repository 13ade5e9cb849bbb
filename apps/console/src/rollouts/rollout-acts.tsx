import { useMutation } from '@tanstack/react-query';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { RolloutDetail } from '@tidegate/protocol/rollouts-api';
import { Ban, CircleCheck, CircleStop, Flame, Play } from 'lucide-react';
import type { ReactNode } from 'react';
import { post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { TextArea } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { toast } from '../ui/toasts.tsx';
import { type Act, actsOn, failuresOf, ROLLOUTS } from './rollout-rules.ts';

interface ActWords {
  /** The button on the page. */
  readonly label: string;
  readonly icon: ReactNode;
  readonly submit: string;
  readonly done: string;
  /** What it means. */
  readonly lead: (rollout: RolloutDetail) => string;
}

const ACTS: Readonly<Record<Act, ActWords>> = {
  approve: {
    ...{ label: 'Approve the next ring…', icon: <CircleCheck aria-hidden="true" className="size-4" /> },
    ...{ submit: 'Approve the next ring', done: 'The next ring is approved.' },
    lead: ({ ring_name: name, lanes, ring }) =>
      `You have looked at what ring “${isolated(name)}” shows. Ring “${isolated(lanes[ring + 1]?.name ?? '')}” is entered when the other conditions are met as well.`,
  },
  halt: {
    ...{ label: 'Halt…', icon: <CircleStop aria-hidden="true" className="size-4" /> },
    ...{ submit: 'Halt the rollout', done: 'The rollout is halted.' },
    lead: () =>
      'Nothing more is approved, and what no host has taken yet is withdrawn. What a host has begun is not interrupted.',
  },
  resume: {
    ...{ label: 'Resume…', icon: <Play aria-hidden="true" className="size-4" /> },
    ...{ submit: 'Resume the rollout', done: 'The rollout goes on.' },
    lead: (rollout) => {
      const failures = failuresOf(rollout);
      return failures === 0
        ? 'The rollout goes on where it stands.'
        : `The rollout goes on where it stands. You answer for ${counted(failures, 'failed host')}: ${failures === 1 ? 'it does' : 'they do'} not count any more.`;
    },
  },
  emergency: {
    ...{ label: 'Skip the waiting times…', icon: <Flame aria-hidden="true" className="size-4" /> },
    ...{ submit: 'Skip the waiting times of all rings', done: 'The rollout is in the emergency lane.' },
    lead: () =>
      'For vulnerabilities that are exploited. From now on no ring waits for its hosts to run the update for a while, and one that has nothing to install is passed 15 minutes after its hosts were asked to scan; every ring and all other conditions stay. This cannot be taken back.',
  },
  cancel: {
    ...{ label: 'Cancel…', icon: <Ban aria-hidden="true" className="size-4" /> },
    ...{ submit: 'Cancel the rollout', done: 'The rollout is cancelled.' },
    lead: () =>
      'It ends for good. Its versions are left to people, and newer versions need not wait for it. What is installed stays installed.',
  },
};

/** The buttons of what can be done with a rollout now. */
export function RolloutButtons({ rollout, onAct }: { rollout: RolloutDetail; onAct: (act: Act) => void }) {
  return actsOn(rollout).map((act, i) => {
    const { label, icon } = ACTS[act];
    return (
      <Button key={act} tone={i === 0 ? 'primary' : 'plain'} icon={icon} onClick={() => onAct(act)}>
        {label}
      </Button>
    );
  });
}

/** Asks for the reason, and does it; `rollout` is what the operator has looked at. */
export function ActDialog({
  rollout,
  act,
  onClose,
}: {
  rollout: RolloutDetail;
  act: Act;
  onClose: () => void;
}) {
  const { submit, done, lead } = ACTS[act];
  const path = `${ROLLOUTS}/${rollout.id}`;
  const acting = useMutation({
    mutationFn: (reason: string) =>
      withStepUp(() =>
        post<RolloutDetail>(`${path}/${act}`, act === 'approve' ? { ring: rollout.ring } : { reason }),
      ),
    onSuccess: () => {
      toast(done);
      onClose();
    },
    // Also after a refusal: somebody else may have acted.
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['updates'] }),
  });
  return (
    <FormDialog
      tone="danger"
      title={submit}
      lead={lead(rollout)}
      submit={submit}
      busy={acting.isPending}
      error={acting.error?.message}
      onSubmit={(form) => acting.mutate(String(form.get('reason') ?? '').trim())}
      onClose={onClose}
    >
      {act !== 'approve' && (
        <TextArea
          {...{ label: 'Reason', name: 'reason', required: true, maxLength: 1_000 }}
          error={fieldFaults(acting.error).reason}
        />
      )}
    </FormDialog>
  );
}
