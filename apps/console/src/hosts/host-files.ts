import type { AgentItem } from '@tidegate/protocol/agents-api';
import { isolated } from '@tidegate/protocol/isolated';
import type { Action } from '../actions/actions.ts';
import { getFile } from '../api/client.ts';
import { saveFile } from '../ui/save-file.ts';
import { attempt, toast } from '../ui/toasts.tsx';

const TYPE = 'application/vnd.cyclonedx+json';

/** Documents about a host for other tools. */
export function hostFiles({ id, hostname }: Pick<AgentItem, 'id' | 'hostname'>): readonly Action[] {
  const file = (what: 'sbom' | 'vex', label: string): Action => ({
    ...{ id: `host ${what}`, group: 'This host', label, isAllowed: true },
    run: () =>
      void attempt(async () => {
        const text = await getFile(`/api/v1/agents/${encodeURIComponent(id)}/${what}`, { accept: TYPE });
        const path = await saveFile(`${hostname}.${what}.cdx.json`, { text, type: TYPE });
        toast(
          `The ${what.toUpperCase()} of ${isolated(hostname)} is saved${path === null ? '' : ` in ${path}`}.`,
        );
      }),
  });
  return [
    file('sbom', 'Download what is installed (SBOM)'),
    file('vex', 'Download its vulnerabilities (VEX)'),
  ];
}
