import { Page } from '../ui/page.tsx';

/** Age exceptions. */
export function ExceptionsPage() {
  return <Page title="Age exceptions">{null}</Page>;
}
