import { ArrowDownToLine, Copy, Pause } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { Panel } from '../ui/page.tsx';
import { ScrollArea } from '../ui/scroll-area.tsx';
import { attempt, toast } from '../ui/toasts.tsx';
import { endedText, outputText } from './output-rules.ts';
import { type OutputState, useOutput } from './use-output.ts';

const STATES: Readonly<Record<OutputState, string>> = {
  connecting: 'Connecting',
  live: 'Live: output appears here as the host writes it.',
  ended: 'Finished: this is the complete output.',
  lost: 'The output cannot be read. Reload the page to try again.',
};
const PATCHED = 'Finished: the end is from the host’s report, and some earlier output may be missing.';

/** The output of a command, as plain text. */
export function LiveOutput({ commandId, tail }: { commandId: string; tail: string | null }) {
  const { log, state } = useOutput(commandId);
  const [isFollowing, setFollowing] = useState(true);
  const box = useRef<HTMLElement>(null);
  const followed = outputText(log);
  const { text, isPatched } =
    state === 'ended' ? endedText(followed, tail) : { text: followed, isPatched: false };
  useEffect(() => {
    // Keeps the end in view as the output grows.
    if (isFollowing && text !== '' && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, isFollowing]);
  const copy = () =>
    attempt(async () => {
      await navigator.clipboard.writeText(text);
      toast('The output is copied.');
    });
  return (
    <Panel
      title="Output"
      aside={
        <span className="flex gap-2">
          {state !== 'ended' && (
            <Button
              aria-pressed={isFollowing}
              onClick={() => setFollowing(!isFollowing)}
              icon={
                isFollowing ? (
                  <Pause aria-hidden="true" className="size-4" />
                ) : (
                  <ArrowDownToLine aria-hidden="true" className="size-4" />
                )
              }
            >
              {isFollowing ? 'Pause' : 'Follow'}
            </Button>
          )}
          <Button
            disabled={text === ''}
            onClick={() => void copy()}
            icon={<Copy aria-hidden="true" className="size-4" />}
          >
            Copy
          </Button>
        </span>
      }
    >
      <p role="status" className="mb-2 text-muted">
        {isPatched ? PATCHED : STATES[state]}
        {log.dropped > 0 && ` The first ${log.dropped.toLocaleString('en')} lines are no longer shown.`}
      </p>
      {text === '' ? (
        <p className="text-muted">{state === 'ended' ? 'The command wrote no output.' : 'No output yet.'}</p>
      ) : (
        <ScrollArea
          ref={box}
          label="Output of the command"
          className="max-h-[28rem] rounded-lg border border-line bg-sunken p-3"
        >
          <pre className="whitespace-pre-wrap break-words">{text}</pre>
        </ScrollArea>
      )}
    </Panel>
  );
}
