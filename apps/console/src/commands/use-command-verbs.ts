import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { CommandItem, CommandQueued } from '@tidegate/protocol/commands-api';
import type { Static } from 'typebox';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { toast } from '../ui/toasts.tsx';

const failed = (error: Error) => toast(error.message, { tone: 'bad' });
const again = () => {
  void queryClient.invalidateQueries({ queryKey: ['updates'] });
  return queryClient.invalidateQueries({ queryKey: ['commands'] });
};

/** Cancels a command that its host has not fetched, and retries one that failed. */
export function useCommandVerbs(id: string) {
  const navigate = useNavigate();
  const cancel = useMutation({
    mutationFn: () => post<CommandItem>(`/api/v1/commands/${id}/cancel`),
    onSuccess: () => toast('The command is cancelled.'),
    onError: failed,
    onSettled: again,
  });
  const retry = useMutation({
    mutationFn: () => post<Static<typeof CommandQueued>>(`/api/v1/commands/${id}/retry`),
    onSuccess: ({ command_id: next }) => {
      toast('This is the new command. The host gets it at its next check-in.');
      void navigate({ to: '/commands/$id', params: { id: next } });
    },
    onError: failed,
    onSettled: again,
  });
  return { cancel, retry };
}
