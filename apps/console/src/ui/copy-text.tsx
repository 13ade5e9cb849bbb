import { Check, Copy } from 'lucide-react';
import { useState } from 'react';

/** Text in monospace that one click copies; long ids may be shown short. */
export function CopyText({ text, short, label = 'Copy' }: { text: string; short?: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <button
      type="button"
      onClick={copy}
      onBlur={() => setCopied(false)}
      title={`${label}: ${text}`}
      className="mono inline-flex max-w-full items-center gap-1 rounded px-1 text-left break-all hover:bg-sunken"
    >
      <span className={short === undefined ? 'whitespace-pre-wrap' : 'whitespace-nowrap'}>
        {short ?? text}
      </span>
      {copied ? (
        <Check aria-hidden="true" className="size-3.5 shrink-0 text-good" />
      ) : (
        <Copy aria-hidden="true" className="size-3.5 shrink-0 text-muted" />
      )}
      <span className="sr-only" role="status">
        {copied ? 'copied' : ''}
      </span>
    </button>
  );
}
