import { useMutation } from '@tanstack/react-query';
import { counted } from '@tidegate/protocol/count-words';
import type { MoveHostsAnswer, MoveHostsRequest } from '@tidegate/protocol/groups-api';
import { isolated } from '@tidegate/protocol/isolated';
import { useId, useState } from 'react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogFooter } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';
import { useGroups } from './groups.ts';

/** Puts hosts into a group, an existing one or a new one, or into none. */
export function GroupDialog({
  ids,
  group = '',
  onDone,
  onClose,
}: {
  ids: readonly string[];
  group?: string;
  onDone?: () => void;
  onClose: () => void;
}) {
  const [name, setName] = useState(group);
  const groups = useGroups();
  const listId = useId();
  const move = useMutation({
    mutationFn: () => {
      const body: MoveHostsRequest = { agent_ids: [...ids], group: name === '' ? null : name };
      return withStepUp(() => post<MoveHostsAnswer>('/api/v1/agents/group', body));
    },
    onSuccess: ({ moved, not_found }) => {
      void queryClient.invalidateQueries({ queryKey: ['hosts'] });
      const missing = not_found.length > 0 ? ` ${not_found.length} were not found.` : '';
      toast(
        `${moved.length} of ${ids.length} moved ${name === '' ? 'out of their group' : `to ${isolated(name)}`}.${missing}`,
      );
      onDone?.();
      onClose();
    },
  });
  return (
    <Dialog title={`Set the group of ${counted(ids.length, 'host')}`} onClose={onClose}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          move.mutate();
        }}
      >
        <Field
          label="Group"
          value={name}
          maxLength={128}
          list={listId}
          autoComplete="off"
          hint="An existing group or a new name. Leave empty for no group. Operators who are bound to groups see only their hosts."
          error={move.error?.message}
          onChange={(event) => setName(event.target.value)}
        />
        <datalist id={listId}>
          {groups.map((each) => (
            <option key={each.name} value={each.name} />
          ))}
        </datalist>
        <DialogFooter>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" busy={move.isPending}>
            {name === '' ? 'Remove from the group' : 'Set the group'}
          </Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}
