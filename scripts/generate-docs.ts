import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clientApi } from './client-api.ts';
import { clientRequests } from './client-requests.ts';
import { configurationDoc } from './configuration-doc.ts';
import { eventVectors } from './event-vectors.ts';
import { metricsDoc } from './metrics-doc.ts';
import { readOpenApi } from './read-openapi.ts';
import { signedVectors } from './signed-vectors.ts';
import { specMap } from './spec-map.ts';

// Writes the generated documents; with --check only reports those that are not up to date.

const root = dirname(import.meta.dirname);
const openApi = await readOpenApi();
const documents: Readonly<Record<string, string>> = {
  'docs/configuration.md': configurationDoc(),
  'docs/metrics.md': metricsDoc(),
  'docs/spec-map.md': specMap(root),
  'packages/client/src/api.ts': clientApi(openApi),
  'packages/client/src/requests.ts': clientRequests(openApi),
  'vectors/event-chain.json': eventVectors(),
  'vectors/signed-documents.json': signedVectors(),
};

const stale = Object.entries(documents).filter(([path, text]) => present(path) !== text);
if (process.argv.includes('--check')) {
  for (const [path] of stale) console.error(`${path} is not up to date: run npm run docs`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const [path, text] of stale) writeFileSync(join(root, path), text);
  console.log(
    stale.length > 0
      ? `written: ${stale.map(([path]) => path).join(', ')}`
      : 'all generated documents are up to date',
  );
}

function present(path: string): string | null {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch {
    return null;
  }
}
