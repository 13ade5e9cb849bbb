import { useMutation } from '@tanstack/react-query';
import { counted } from '@tidegate/protocol/count-words';
import {
  isReported,
  partsOfTag,
  type TagHostsAnswer,
  type TagHostsRequest,
} from '@tidegate/protocol/tags-api';
import { useId, useState } from 'react';
import { post } from '../api/client.ts';
import { faultUnder } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { CheckList } from '../ui/check-list.tsx';
import { Dialog, DialogFooter } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';
import { wordsOf } from './tag-rules.ts';
import { useScopeTags } from './tags.ts';

/** Sets and removes tags of hosts. `tags`: those that any of the hosts has. */
export function TagDialog({
  ids,
  tags,
  onDone,
  onClose,
}: {
  ids: readonly string[];
  tags: readonly string[];
  onDone?: () => void;
  onClose: () => void;
}) {
  const [text, setText] = useState('');
  const [remove, setRemove] = useState<readonly string[]>([]);
  const known = useScopeTags();
  const listId = useId();
  const keys = [...new Set(tags.filter((tag) => !isReported(tag)).map((tag) => partsOfTag(tag).key))].sort();
  const set = wordsOf(text);
  const change = useMutation({
    mutationFn: () => {
      const body: TagHostsRequest = { agent_ids: [...ids], set, remove: [...remove] };
      return withStepUp(() => post<TagHostsAnswer>('/api/v1/agents/tags', body));
    },
    onSuccess: ({ changed, not_found }) => {
      void queryClient.invalidateQueries({ queryKey: ['hosts'] });
      const missing = not_found.length > 0 ? ` ${not_found.length} were not found.` : '';
      toast(`The tags of ${changed.length} of ${ids.length} changed.${missing}`);
      onDone?.();
      onClose();
    },
  });
  return (
    <Dialog title={`Change the tags of ${counted(ids.length, 'host')}`} onClose={onClose}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <Field
          label="Set tags"
          placeholder="env=prod site=wien"
          value={text}
          maxLength={4_096}
          list={listId}
          autoComplete="off"
          spellCheck={false}
          hint="key=value, several separated by spaces. A host that has the key gets the new value. Policies, blackouts and holds go by these tags."
          error={faultUnder(change.error, '/set') ?? change.error?.message}
          onChange={(event) => setText(event.target.value)}
        />
        <datalist id={listId}>
          {known.map((tag) => (
            <option key={tag} value={tag} />
          ))}
        </datalist>
        {keys.length > 0 && (
          <CheckList
            legend="Remove"
            choices={keys.map((key) => [key, key])}
            chosen={remove}
            onChange={setRemove}
            hint="What hosts report of themselves (host.) cannot be removed here."
          />
        )}
        <DialogFooter>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            tone="primary"
            busy={change.isPending}
            disabled={set.length + remove.length === 0}
          >
            Change the tags
          </Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}
