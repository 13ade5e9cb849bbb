import { Page } from '../ui/page.tsx';

/** Settings. */
export function SettingsPage() {
  return <Page title="Settings">{null}</Page>;
}
