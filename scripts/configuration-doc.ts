import { SETTINGS } from '../apps/server/src/config.ts';

const INTRODUCTION = `# Configuration

<!-- Written by "npm run docs" from apps/server/src/config.ts: change it there. -->

The server is configured by environment variables. Each can also be given as a file: \`NAME_FILE\` names a file that
holds the value, which is how secrets are best passed. An empty variable counts as absent. A bad value stops the start
with one line that names the variable, what was given (secrets are hidden) and what is allowed.
`;

/** docs/configuration.md, one section for each setting. */
export function configurationDoc(): string {
  const sections = Object.values(SETTINGS).map((setting) => {
    const secret = 'secret' in setting && setting.secret ? ' Secret.' : '';
    return `## ${setting.env}

${setting.doc}

Allowed: ${setting.allowed}. Default: ${showDefault(setting.default)}.${secret}
`;
  });
  return [INTRODUCTION, ...sections].join('\n');
}

function showDefault(value: string | number | boolean | null | readonly string[]): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  return `\`${String(value)}\``;
}
