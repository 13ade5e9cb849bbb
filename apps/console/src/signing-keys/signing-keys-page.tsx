import { Page } from '../ui/page.tsx';

/** Signing keys. */
export function SigningKeysPage() {
  return <Page title="Signing keys">{null}</Page>;
}
