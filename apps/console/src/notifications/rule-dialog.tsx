import { useMutation } from '@tanstack/react-query';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type {
  NotificationChannel,
  NotificationRule,
  RulePreview,
  RuleRequest,
} from '@tidegate/protocol/notifications-api';
import { useState } from 'react';
import { post, put } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { EventSeverityBadge } from '../events/event-badges.tsx';
import { withStepUp } from '../login/step-up.tsx';
import { ownZone } from '../policies/window-times.tsx';
import { Button } from '../ui/button.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { draftOf, RULES, requestOf } from './rule-draft.ts';
import { RuleFields } from './rule-fields.tsx';

/** Adds a rule, or changes one; shows first what it would have sent. */
export function RuleDialog({
  rule,
  channels,
  onClose,
}: {
  /** Null to add one. */
  rule: NotificationRule | null;
  channels: readonly NotificationChannel[];
  onClose: () => void;
}) {
  const [draft, setDraft] = useState(() =>
    draftOf(rule, { channelId: channels[0]?.id ?? '', zone: ownZone() }),
  );
  const request = requestOf(draft, rule?.is_enabled ?? true);
  const previewing = useMutation({
    mutationFn: (body: RuleRequest) => post<RulePreview>(`${RULES}/preview`, body),
  });
  const saving = useMutation({
    mutationFn: (body: RuleRequest) =>
      withStepUp(() =>
        rule === null
          ? post<NotificationRule>(RULES, body)
          : put<NotificationRule>(`${RULES}/${rule.id}`, body),
      ),
    onSuccess: async ({ name }) => {
      toast(`${isolated(name)} is saved.`);
      await queryClient.invalidateQueries({ queryKey: ['notifications'] });
      onClose();
    },
  });
  const error = saving.error ?? previewing.error;
  return (
    <FormDialog
      {...{
        title: rule === null ? 'Add a rule' : `Change ${isolated(rule.name)}`,
        wide: true,
        tone: 'primary',
        onClose,
      }}
      lead="A message names what it is about and links to it. The link decides nothing by itself."
      submit="Save the rule"
      busy={saving.isPending}
      error={error?.message}
      onSubmit={() => {
        previewing.reset();
        saving.mutate(request);
      }}
    >
      <RuleFields
        {...{ draft, channels, error }}
        onChange={(changes) => {
          previewing.reset();
          setDraft((before) => ({ ...before, ...changes }));
        }}
      />
      <div className="space-y-2">
        <Button
          busy={previewing.isPending}
          onClick={() => {
            saving.reset();
            previewing.mutate(request);
          }}
        >
          Show what it would have sent
        </Button>
        <div role="status">{previewing.data && <Preview preview={previewing.data} />}</div>
      </div>
    </FormDialog>
  );
}

function Preview({ preview: { since, matches, messages, is_complete, samples } }: { preview: RulePreview }) {
  return (
    <div className="space-y-2 rounded-lg border border-line bg-sunken p-3">
      <p className="font-medium">
        {counted(messages, 'message')} about {counted(matches, 'match').replace(/matchs$/, 'matches')} since{' '}
        {since.slice(0, 10)}
        {!is_complete && ', at least'}
      </p>
      {matches === 0 && <p className="text-muted">Nothing that happened in this time fits the rule.</p>}
      <ul className="space-y-1">
        {samples.map(({ at, severity, text }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the samples have no id and are never reordered
          <li key={i} className="flex flex-wrap items-baseline gap-2">
            <EventSeverityBadge severity={severity} />
            <Time at={at} />
            <span className="min-w-0 break-words">{text}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
