import { readFileSync, statSync } from 'node:fs';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';

const SERVERS_MAX = 100;
const strict = { additionalProperties: false };
const Server = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' }),
    url: Type.String({ maxLength: 2_000 }),
    /** Allows plain http to another machine, where others on the network can read the session. For tests. */
    allow_insecure_http: Type.Optional(Type.Boolean()),
  },
  strict,
);
const Config = Type.Object({ servers: Type.Array(Server, { maxItems: SERVERS_MAX }) }, strict);
export type Server = Type.Static<typeof Server>;

export type ConfigRead = { ok: true; servers: readonly Server[] } | { ok: false; detail: string };

/**
 * The servers that this shell knows. Anyone who can write the file decides where the session is sent, so a file that
 * others can write is refused. Without a file there are none.
 */
export function readConfig(path: string): ConfigRead {
  const text = readText(path);
  if (text === null) return { ok: true, servers: [] };
  if ((statSync(path).mode & 0o022) !== 0)
    return { ok: false, detail: `${path} can be written by others: chmod 600 ${path}` };
  const parsed = parseStrictJson(text);
  if (!parsed.ok) return { ok: false, detail: `${path} ${parsed.reason}` };
  if (!Check(Config, parsed.value))
    return {
      ok: false,
      detail: `${path} must have the form {"servers": [{"name": "…", "url": "https://…"}]}`,
    };
  return { ok: true, servers: parsed.value.servers };
}

export type Chosen = { ok: true; name: string; url: string } | { ok: false; detail: string };

const LOCAL: Server = { name: 'local', url: 'http://localhost:8080' };

/** The server with the given name or address; by default the first. */
export function chooseServer(servers: readonly Server[], asked: string | null): Chosen {
  if (asked === null) return checkServer(servers[0] ?? LOCAL);
  const named = servers.find(({ name, url }) => name === asked || url === asked);
  if (named) return checkServer(named);
  if (asked.includes('://')) return checkServer({ name: asked, url: asked });
  const names = servers.map(({ name }) => name).join(', ');
  return { ok: false, detail: `there is no server "${asked}"${names === '' ? '' : `; there are ${names}`}` };
}

/** Plain http exposes the session on the network: it is allowed for this machine, and where the file allows it. */
function checkServer({ name, url: text, allow_insecure_http: mayBePlain = false }: Server): Chosen {
  if (!URL.canParse(text)) return { ok: false, detail: `"${text}" is not a URL` };
  const url = new URL(text);
  const isLocal =
    url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(\.\d+){3}$/.test(url.hostname);
  const isRight = url.protocol === 'https:' || (url.protocol === 'http:' && (isLocal || mayBePlain));
  if (!isRight)
    return { ok: false, detail: `${text} is not https://: others on the network could read the session` };
  if (url.username || url.password || url.search || url.hash)
    return { ok: false, detail: 'the address of a server must have no user name, query or fragment' };
  return { ok: true, name, url: `${url.origin}${url.pathname.replace(/\/+$/, '')}` };
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
