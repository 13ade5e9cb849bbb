import { useMemo, useState } from 'react';
import { useSession } from '../api/session.ts';

export interface HiddenColumns {
  readonly hidden: ReadonlySet<string>;
  toggle(id: string): void;
}

/** The hidden columns of a list, stored in this browser per operator; `atFirst` until they choose. */
export function useHiddenColumns(list: string, atFirst: readonly string[] = []): HiddenColumns {
  const { session } = useSession();
  const key = `tidegate:columns:${list}:${session?.operator.username ?? ''}`;
  const [chosen, setChosen] = useState<{ key: string; ids: readonly string[] } | null>(null);
  return useMemo(() => {
    const hidden = new Set(chosen?.key === key ? chosen.ids : (stored(key) ?? atFirst));
    return {
      hidden,
      toggle(id) {
        const ids = hidden.has(id) ? [...hidden].filter((one) => one !== id) : [...hidden, id];
        localStorage.setItem(key, JSON.stringify(ids));
        setChosen({ key, ids });
      },
    };
  }, [key, chosen, atFirst]);
}

function stored(key: string): readonly string[] | null {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? 'null');
    return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : null;
  } catch {
    return null;
  }
}
