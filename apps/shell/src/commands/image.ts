import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { type Scope, scopeAllows, type Value } from '@tidegate/capability';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Outcome } from '../backend.ts';
import { type Commands, command, done, failed } from '../core/commands.ts';
import { type ImageResource, RESOURCES_MAX, type ResourceTable } from '../core/resource-table.ts';
import { IMAGE_SIDE_MAX, isSide, readPng } from './read-png.ts';

/** The limit for a file and for the bytes that a page sends. */
const IMAGE_MAX_BYTES = 1024 * 1024;
const strict = { additionalProperties: false };
const Base64 = Type.String({ maxLength: (IMAGE_MAX_BYTES * 4) / 3 + 4, pattern: '^[A-Za-z0-9+/]*={0,2}$' });
const Side = Type.Integer({ minimum: 1, maximum: IMAGE_SIDE_MAX });
const OfId = Type.Object({ id: Type.Integer() }, strict);
const NOT_PNG = `an image is a PNG of eight bits a channel, not interlaced, at most ${IMAGE_SIDE_MAX} pixels wide and high`;

/** Images that the shell holds for a webview by number; bytes are transferred as base64. */
export function imageCommands(resources: ResourceTable): Commands {
  const keep = (webview: string, image: ImageResource | null): Outcome => {
    if (image === null) return failed(NOT_PNG);
    const id = resources.add(webview, image);
    return id === null ? failed(`a webview holds at most ${RESOURCES_MAX} resources`) : done(id);
  };
  return {
    'core:image:new': command(
      Type.Object({ rgba: Base64, width: Side, height: Side }, strict),
      ({ rgba, width, height }, { sender }) => {
        const bytes = Buffer.from(rgba, 'base64');
        const isRight = isSide(width) && isSide(height) && bytes.length === width * height * 4;
        return isRight
          ? keep(sender.webview, { width, height, rgba: bytes })
          : failed('rgba has four bytes for each pixel');
      },
    ),
    'core:image:from-bytes': command(Type.Object({ bytes: Base64 }, strict), ({ bytes }, { sender }) =>
      keep(sender.webview, readPng(Buffer.from(bytes, 'base64'))),
    ),
    'core:image:from-path': command(
      Type.Object({ path: Type.String({ maxLength: 4_096 }) }, strict),
      async ({ path }, { sender, scope }) => {
        const file = await readInScope(path, scope);
        return file === null
          ? failed('there is no such image in the scope of the permission')
          : keep(sender.webview, readPng(file));
      },
    ),
    'core:image:rgba': command(OfId, ({ id }, { sender }) => {
      const image = resources.get(sender.webview, id);
      return image ? done(Buffer.from(image.rgba).toString('base64')) : failed(`there is no image ${id}`);
    }),
    'core:image:size': command(OfId, ({ id }, { sender }) => {
      const image = resources.get(sender.webview, id);
      return image ? done({ width: image.width, height: image.height }) : failed(`there is no image ${id}`);
    }),
  };
}

/**
 * Reads a file below a folder of the scope. Without a scope nothing is read, as an empty scope would be the whole disk.
 * Whatever the reason for a failure, the page only learns that there is no image.
 */
async function readInScope(path: string, scope: Scope): Promise<Uint8Array | null> {
  if (scope.allow.length === 0 || ![...scope.allow, ...scope.deny].every(isFolder)) return null;
  try {
    // Links are resolved first: a link in an allowed folder must not lead out of it.
    const real = await realpath(path);
    if (!scopeAllows(await realScope(scope), real, isBelow)) return null;
    return await readSmall(real);
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}

/** The folders by their real paths, like the file: a denied folder that is named by a link is denied too. */
async function realScope({ allow, deny }: Scope): Promise<Scope> {
  const real = (entries: readonly Value[]) =>
    Promise.all(entries.filter(isFolder).map(async ({ folder }) => ({ folder: await realOrSame(folder) })));
  return { allow: await real(allow), deny: await real(deny) };
}

/** A folder that does not exist has nothing below it. */
async function realOrSame(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return folder;
    throw error;
  }
}

/** `{ "folder": "/usr/share/icons" }`; an entry of another form could be a denial that has no effect. */
function isFolder(entry: Value): entry is { readonly folder: string } {
  return Check(Type.Object({ folder: Type.String({ pattern: '^/.' }) }, strict), entry);
}

function isBelow(entry: Value, path: Value): boolean {
  if (!isFolder(entry) || typeof path !== 'string') return false;
  const { folder } = entry;
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

async function readSmall(path: string): Promise<Uint8Array | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await file.stat();
    if (size > IMAGE_MAX_BYTES) return null;
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size) });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
