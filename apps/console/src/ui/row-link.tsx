import { useRouter } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, MouseEvent } from 'react';

type Props = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href' | 'onClick'> & { readonly href: string };

/**
 * A link in the row of a list, to a path of the console. The router's own follows the address, to know whether it leads
 * to where one is: a list has a hundred of them, and each works its address out again when the order of the list changes.
 */
export function RowLink({ href, ...rest }: Props) {
  const router = useRouter();
  const ask = () => void router.preloadRoute({ to: '.', href }).catch(() => undefined);
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    if (event.metaKey || event.altKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    void router.navigate({ href });
  };
  return <a {...rest} href={href} onClick={follow} onMouseEnter={ask} onFocus={ask} onTouchStart={ask} />;
}
