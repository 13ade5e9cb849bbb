import { type RefObject, useEffect, useEffectEvent, useState } from 'react';
import { changesTo } from '../api/filter-changes.ts';
import { focusRows } from '../ui/data-table.tsx';
import { Field } from '../ui/field.tsx';
import { withTyped } from './early-rules.ts';
import { type FilterOf, useFilterLanguage } from './use-filter-text.ts';

const DEBOUNCE_MS = 250;

interface Draft {
  readonly text: string;
  /** The filter that this text stands for comes last, after those that the page still has on its way there. */
  readonly of: readonly string[];
  /** Whether it was typed before its language was loaded: then it is added to the filter of the page. */
  readonly isEarly: boolean;
}

/** The whole filter as text: what is typed here becomes chips, and chips become text. */
export function FilterTextBox<F extends string>({
  of,
  names,
  placeholder,
  filter,
  onFilter,
  box,
}: {
  of: FilterOf;
  /** The parts of the filter. */
  names: readonly F[];
  placeholder: string;
  filter: Readonly<Partial<Record<F, string>>>;
  onFilter: (changes: Readonly<Partial<Record<F, string | undefined>>>) => void;
  box: RefObject<HTMLInputElement | null>;
}) {
  const loaded = useFilterLanguage(of);
  const language = loaded === 'failed' ? null : loaded;
  const keyOf = (one: Readonly<Record<string, unknown>>) =>
    JSON.stringify(Object.entries(changesTo(names, one)));
  const [draft, setDraft] = useState<Draft | null>(null);
  const here = keyOf(filter);
  if (draft?.isEarly) {
    if (language) setDraft({ text: withTyped(language, filter, draft.text), of: [here], isEarly: false });
  }
  // Under any other filter the text follows from that filter, also if the earlier one comes back.
  else if (draft !== null && !draft.of.includes(here)) setDraft(null);
  else if (draft !== null && draft.of.length > 1 && draft.of.at(-1) === here)
    setDraft({ ...draft, of: [here] });
  const own = draft?.isEarly || draft?.of.includes(here) ? draft : null;
  const text = own?.text ?? language?.format(filter) ?? '';
  const parsed = own && language ? language.parse(own.text) : null;
  const errors = parsed && !parsed.ok ? parsed.errors.map(({ message }) => message) : [];
  if (loaded === 'failed') errors.push('the filter did not load; reload the page');

  const apply = () => {
    if (!own || !parsed?.ok) return false;
    const wanted = keyOf(parsed.filter);
    if (wanted !== here) {
      setDraft({ ...own, of: [...own.of, wanted] });
      onFilter(changesTo(names, parsed.filter));
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
        placeholder={placeholder}
        value={text}
        spellCheck={false}
        autoComplete="off"
        autoCapitalize="none"
        error={errors.length > 0 ? `${errors.join('; ')}.` : undefined}
        onChange={(e) =>
          setDraft({ text: e.target.value, of: own?.of ?? [here], isEarly: language === null })
        }
        onFocus={() => {
          // What comes with the language leaves room for what is about to be typed.
          if (language === null && own === null) setDraft({ text: '', of: [here], isEarly: true });
        }}
        onBlur={() => {
          if (apply() || text === '') setDraft(null);
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
