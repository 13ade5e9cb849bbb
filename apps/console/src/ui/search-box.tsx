import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { Field } from './field.tsx';

/** How long typing has to pause before the list is asked again, in milliseconds. */
const DEBOUNCE_MS = 250;

/** A field to search with: the list follows once the typing pauses, and at once on Enter. */
export function SearchBox({
  label = 'Search',
  value,
  onSearch,
  placeholder,
  maxLength = 128,
}: {
  label?: string;
  value: string;
  onSearch: (text: string) => void;
  placeholder?: string;
  maxLength?: number;
}) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const send = useEffectEvent((next: string) => {
    sent.current = next;
    onSearch(next);
  });
  useEffect(() => {
    // Somebody else changed it: the filter was cleared, or another view opened.
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => send(text), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <Field
      label={label}
      type="search"
      value={text}
      placeholder={placeholder}
      maxLength={maxLength}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || text === sent.current) return;
        sent.current = text;
        onSearch(text);
      }}
    />
  );
}
