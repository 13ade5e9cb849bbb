import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatePrivateKeyHex, loadSigningKey } from '@tidegate/signing/sign';
import { expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createTestApp } from '../testing/test-app.ts';
import { addKey, putKeyInUse } from './change-keys.ts';
import { openKeyFolder } from './key-folder.ts';
import { STATE_MAX_AGE_MS } from './key-ring.ts';
import { vouchersOf } from './key-set.ts';
import { listKeys } from './store.ts';

test.each(ENGINES)(
  'a running server loads a key that another process added and activated, once the state is renewed ($name)',
  async (engine) => {
    const app = await createTestApp(engine);
    const { platform, config, http } = app;
    const folder = openKeyFolder(config.dataDir);
    const [first] = folder.readAll();
    if (!first) throw new Error('a server has a key');
    const keyId = platform.newId();
    const privateKeyHex = generatePrivateKeyHex(Buffer.alloc(32, 9));
    const added = loadSigningKey({ keyId, privateKeyHex });
    folder.write({ keyId, privateKeyHex });
    // An incomplete file, or one that is no key, does no harm.
    writeFileSync(join(config.dataDir, 'keys', `${platform.newId()}.key`), privateKeyHex.slice(0, 40));
    const held = new Map([first, added].map((key) => [key.keyId, key]));
    const key = { keyId, publicKeyHex: added.publicKeyHex, inUse: false };
    const vouchers = vouchersOf(first, held);
    await platform.database.transact((tx) => addKey(tx, platform, { key, vouchers, actor: 'test' }));
    await platform.database.transact((tx) => putKeyInUse(tx, platform, vouchersOf(added, held)));
    platform.clock.advance(STATE_MAX_AGE_MS);
    const answer = await http.inject({ url: '/api/v1/public-keys' });
    expect([answer.statusCode, answer.json().key_set.signatures[0].keyid]).toEqual([200, keyId]);
    expect(await listKeys(platform.database.read)).toMatchObject([{ version: 2, in_use: 1 }, { version: 1 }]);
  },
);
