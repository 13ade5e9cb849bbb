import { Link, useLocation } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import { useEffect, useId, useRef, useState } from 'react';
import { type MenuCount, useMenuCounts } from './menu-counts.ts';
import { type Destination, GROUPS, type Group } from './navigation.tsx';

/** Folded until it is opened or one of its pages is shown: seldom needed, and as long as the others together. */
const FOLDED: Group = 'Administration';

/** Links to the pages that the operator may open, in groups. */
export function PageLinks({
  destinations,
  onGo,
}: {
  destinations: readonly Destination[];
  /** Called when a link is followed. */
  onGo?: () => void;
}) {
  const counts = useMenuCounts();
  const { pathname } = useLocation();
  const [isUnfolded, setUnfolded] = useState(false);
  const byGroup = Map.groupBy(destinations, ({ group }) => group);
  const current = destinations.find(({ to }) => isWithin(pathname, to));
  const nav = useRef<HTMLElement>(null);
  const to = current?.to;
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when another page is shown.
  useEffect(() => {
    nav.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest' });
  }, [to]);
  return (
    <nav ref={nav} aria-label="Pages" className="flex-1 scroll-py-2 overflow-y-auto px-2 pb-2">
      {GROUPS.map((group) => {
        const entries = byGroup.get(group);
        if (!entries) return null;
        const isFoldable = group === FOLDED;
        return (
          <Section
            key={group}
            title={group}
            entries={entries}
            counts={counts}
            onGo={onGo}
            isOpen={!isFoldable || isUnfolded || current?.group === group}
            onToggle={isFoldable ? () => setUnfolded((now) => !now) : null}
          />
        );
      })}
    </nav>
  );
}

function isWithin(pathname: string, to: string): boolean {
  return pathname === to || (to !== '/' && pathname.startsWith(`${to}/`));
}

const TITLE = 'px-2 pt-3 pb-1 text-[0.8rem] font-medium text-muted';

function Section({
  title,
  entries,
  counts,
  onGo,
  isOpen,
  onToggle,
}: {
  title: Group;
  entries: readonly Destination[];
  counts: ReadonlyMap<string, MenuCount>;
  onGo: (() => void) | undefined;
  isOpen: boolean;
  /** Null: always open. */
  onToggle: (() => void) | null;
}) {
  const id = useId();
  return (
    <div>
      {onToggle ? (
        <button
          type="button"
          id={id}
          aria-expanded={isOpen}
          onClick={onToggle}
          className={`${TITLE} flex min-h-8 w-full items-center gap-1 rounded-md text-left hover:text-text max-md:min-h-10`}
        >
          {title}
          <ChevronRight aria-hidden="true" className={`size-3.5 ${isOpen ? 'rotate-90' : ''}`} />
        </button>
      ) : (
        <p id={id} className={TITLE}>
          {title}
        </p>
      )}
      {isOpen && (
        <ul aria-labelledby={id}>
          {entries.map((entry) => (
            <Entry key={entry.to} entry={entry} count={counts.get(entry.to)} onGo={onGo} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Entry({
  entry: { to, label, icon },
  count,
  onGo,
}: {
  entry: Destination;
  count: MenuCount | undefined;
  onGo: (() => void) | undefined;
}) {
  return (
    <li className="relative">
      <Link
        to={to}
        onClick={onGo}
        activeOptions={{ exact: to === '/', includeSearch: false }}
        className={`${count ? 'pr-12' : 'pr-2'} flex min-h-8 items-center gap-2.5 rounded-md py-1 pl-2 text-text no-underline hover:bg-sunken hover:no-underline aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent max-md:min-h-10`}
      >
        <span aria-hidden="true" className="[&>svg]:size-4">
          {icon}
        </span>
        {label}
      </Link>
      {count && (
        // Beside the link, so that its name stays the name of the page.
        <span
          title={`${count.count.toLocaleString('en')} ${count.of}`}
          className="pointer-events-none absolute inset-y-0 right-2 flex items-center text-[0.85rem] text-muted tabular-nums"
        >
          {shortCount(count.count)}
          <span className="sr-only"> {count.of}</span>
        </span>
      )}
    </li>
  );
}

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** `987`, `12.4K`. */
function shortCount(count: number): string {
  return COMPACT.format(count);
}
