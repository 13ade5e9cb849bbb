import { Page } from '../ui/page.tsx';

/** Host. */
export function HostPage() {
  return <Page title="Host">{null}</Page>;
}
