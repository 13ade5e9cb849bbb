import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { Field } from './field.tsx';

/** How long typing has to pause before the list is fetched again, in milliseconds. */
const DEBOUNCE_MS = 250;

/** A search field: the list follows once typing pauses, or at once on Enter. */
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
    // The value changed elsewhere: the filter was cleared, or a view was opened.
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
        if (event.key !== 'Enter') return;
        // Inside a form, Enter must not submit it.
        event.preventDefault();
        if (text === sent.current) return;
        sent.current = text;
        onSearch(text);
      }}
    />
  );
}
