import { homedir, tmpdir } from 'node:os';
import { basename, dirname, extname, isAbsolute, join, normalize, resolve } from 'node:path';
import { Type } from 'typebox';
import { type Commands, command, done, failed } from '../core/commands.ts';

const Text = Type.String({ maxLength: 4_096 });
const One = Type.Object({ path: Text }, { additionalProperties: false });
const Many = Type.Object({ paths: Type.Array(Text, { maxItems: 100 }) }, { additionalProperties: false });

/** Operations on path texts: nothing here reads the disk, and a path grants no right to read it. */
export function pathCommands(env: Readonly<Record<string, string | undefined>>): Commands {
  const folders = baseFolders(env);
  return {
    'core:path:basename': command(
      Type.Object({ path: Text, suffix: Type.Optional(Text) }, { additionalProperties: false }),
      ({ path, suffix }) => done(basename(path, suffix)),
    ),
    'core:path:dirname': command(One, ({ path }) => done(dirname(path))),
    'core:path:extname': command(One, ({ path }) => done(extname(path).slice(1))),
    'core:path:is-absolute': command(One, ({ path }) => done(isAbsolute(path))),
    'core:path:normalize': command(One, ({ path }) => done(normalize(path))),
    'core:path:join': command(Many, ({ paths }) => done(join(...paths))),
    'core:path:resolve': command(Many, ({ paths }) => done(resolve(folders.home, ...paths))),
    'core:path:resolve-directory': command(
      Type.Object({ directory: Text, path: Type.Optional(Text) }, { additionalProperties: false }),
      ({ directory, path = '' }) => {
        const folder = Object.entries(folders).find(([name]) => name === directory)?.[1];
        if (folder === undefined) return failed(`directory is one of ${Object.keys(folders).join(', ')}`);
        return done(join(folder, path));
      },
    ),
  };
}

/** The XDG base directories, with their defaults. */
function baseFolders(env: Readonly<Record<string, string | undefined>>) {
  const home = env.HOME ?? homedir();
  return {
    home,
    config: env.XDG_CONFIG_HOME ?? join(home, '.config'),
    data: env.XDG_DATA_HOME ?? join(home, '.local/share'),
    cache: env.XDG_CACHE_HOME ?? join(home, '.cache'),
    runtime: env.XDG_RUNTIME_DIR ?? tmpdir(),
    temp: tmpdir(),
  };
}
