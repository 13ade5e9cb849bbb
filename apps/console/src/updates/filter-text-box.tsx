import { type RefObject, useEffect, useEffectEvent, useState } from 'react';
import { focusRows } from '../ui/data-table.tsx';
import { Field } from '../ui/field.tsx';
import { filterKey, replacing, type UrlFilter } from './filter-rules.ts';
import { useFilterText } from './use-filter-text.ts';

const DEBOUNCE_MS = 250;

interface Draft {
  readonly text: string;
  /** The filters that this text stands for; under any other filter the text is derived from the filter. */
  readonly of: readonly string[];
}

/** The whole filter as text: what is typed here becomes chips, and chips become text. */
export function FilterTextBox({
  filter,
  onFilter,
  box,
}: {
  filter: UrlFilter;
  onFilter: (changes: ReturnType<typeof replacing>) => void;
  box: RefObject<HTMLInputElement | null>;
}) {
  const parser = useFilterText();
  const [draft, setDraft] = useState<Draft | null>(null);
  const here = filterKey(filter);
  const own = draft?.of.includes(here) ? draft : null;
  const text = own?.text ?? parser?.formatFilterText(filter) ?? '';
  const parsed = own && parser ? parser.parseFilterText(own.text) : null;
  const errors = parsed && !parsed.ok ? parsed.errors.map(({ message }) => message) : [];

  const apply = () => {
    if (!own || !parsed?.ok) return false;
    const wanted = filterKey(parsed.filter);
    if (wanted !== here) {
      setDraft({ text: own.text, of: [here, wanted] });
      onFilter(replacing(parsed.filter));
    }
    return true;
  };
  const applyLater = useEffectEvent(apply);
  const typed = own?.text;
  useEffect(() => {
    if (typed === undefined) return;
    const timer = setTimeout(applyLater, DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [typed]);

  return (
    <div className="min-w-[min(18rem,100%)] flex-1">
      <Field
        ref={box}
        label="Filter"
        type="search"
        placeholder="openssl state:pending ecosystem:apt host:web-*"
        value={text}
        spellCheck={false}
        autoComplete="off"
        autoCapitalize="none"
        disabled={parser === null}
        error={errors.length > 0 ? `${errors.join('; ')}.` : undefined}
        onChange={(e) => setDraft({ text: e.target.value, of: own?.of ?? [here] })}
        onBlur={() => {
          if (apply()) setDraft(null);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          apply();
          focusRows();
        }}
      />
    </div>
  );
}
