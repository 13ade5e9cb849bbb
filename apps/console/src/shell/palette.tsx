import { useRouter } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { Action } from '../actions/actions.ts';
import { useOfferedActions } from '../actions/registry.ts';
import { useSession } from '../api/session.ts';
import { CommandPalette } from '../ui/command-palette.tsx';
import { useFound } from './find.ts';
import { type Recent, recents, remember } from './recents.ts';

/** Finds hosts, packages, vulnerabilities, operators, pages and acts; without a text it shows what was used last. */
export function Palette({ onClose }: { onClose: () => void }) {
  const offered = useOfferedActions();
  const { session } = useSession();
  const { history } = useRouter();
  const username = session?.operator.username ?? '';
  const [text, setText] = useState('');
  const [last] = useState(() => recents(username));
  const search = useFound(text);

  const open = (recent: Recent): Action => ({
    ...{ id: recent.id, group: recent.group, label: recent.label, isAllowed: true },
    run: () => history.push(recent.href ?? '/'),
  });
  const allowed = useMemo(() => offered.filter(({ isAllowed }) => isAllowed), [offered]);
  const recent = last.flatMap((one) => {
    const action = one.href ? open(one) : allowed.find(({ id }) => id === one.id);
    return action ? [{ ...action, id: `recent ${action.id}`, group: 'Recent' }] : [];
  });

  function run(action: Action): void {
    const { id, label } = action;
    const found = [...search.found, ...last].find((one) => one.id === id.replace(/^recent /, ''));
    remember(username, found ?? { id: id.replace(/^recent /, ''), group: action.group, label });
    onClose();
    action.run();
  }
  return (
    <CommandPalette
      actions={text === '' ? [...recent, ...allowed] : allowed}
      found={search.found.map(open)}
      empty={search.says ?? `Nothing is called “${text.trim()}”.`}
      text={text}
      onText={setText}
      onRun={run}
      onClose={onClose}
    />
  );
}
