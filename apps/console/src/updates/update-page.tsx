import { Page } from '../ui/page.tsx';

/** Update. */
export function UpdatePage() {
  return <Page title="Update">{null}</Page>;
}
