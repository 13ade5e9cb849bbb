import { Page } from '../ui/page.tsx';

/** Events. */
export function EventsPage() {
  return <Page title="Events">{null}</Page>;
}
