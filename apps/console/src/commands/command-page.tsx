import { Page } from '../ui/page.tsx';

/** Command. */
export function CommandPage() {
  return <Page title="Command">{null}</Page>;
}
