import { randomBytes } from 'node:crypto';
import type { Store } from './store.ts';

/** A secret key that this installation makes for itself, once. All nodes share it, and it survives restarts. */
export async function installationKey(
  store: Store,
  name: 'call-links' | 'stream-tokens' | 'sign-ins',
): Promise<Buffer> {
  await store.db
    .insertInto('secrets')
    .values({ name, value: randomBytes(32).toString('base64') })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { value } = await store.db
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  return Buffer.from(value, 'base64');
}
