import { Page } from '../ui/page.tsx';

/** Commands. */
export function CommandsPage() {
  return <Page title="Commands">{null}</Page>;
}
