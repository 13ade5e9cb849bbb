import { useEffect, useState } from 'react';
import { queryClient } from '../api/queries.ts';
import { addOutput, EMPTY_LOG, type OutputLog } from './output-rules.ts';

/** `ended`: the output is complete. */
export type OutputState = 'connecting' | 'live' | 'ended' | 'lost';

/** Follows the output of a command as it is written; after a disconnect the browser resumes where it left off. */
export function useOutput(commandId: string): { log: OutputLog; state: OutputState } {
  const [log, setLog] = useState(EMPTY_LOG);
  const [state, setState] = useState<OutputState>('connecting');
  useEffect(() => {
    setLog(EMPTY_LOG);
    setState('connecting');
    const source = new EventSource(`/api/v1/commands/${commandId}/output`);
    source.addEventListener('open', () => setState('live'));
    source.addEventListener('error', () =>
      setState(source.readyState === EventSource.CLOSED ? 'lost' : 'connecting'),
    );
    source.addEventListener('output', (message: MessageEvent<string>) => {
      const text = dataOf(message.data);
      setLog((before) => addOutput(before, text));
    });
    source.addEventListener('end', () => {
      source.close();
      setState('ended');
      void queryClient.invalidateQueries({ queryKey: ['commands'] });
    });
    return () => source.close();
  }, [commandId]);
  return { log, state };
}

function dataOf(message: string): string {
  const piece: unknown = JSON.parse(message);
  return piece !== null && typeof piece === 'object' && 'data' in piece && typeof piece.data === 'string'
    ? piece.data
    : '';
}
