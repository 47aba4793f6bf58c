import type { Clock } from '../lib/clock.ts';
import { digestOf } from '../lib/digest.ts';
import { newId } from '../lib/ids.ts';
import { Problem } from '../port/problem.ts';
import type { ApiKeyMade, ApiKeyShown, NewApiKey } from '../protocol/people-reports.ts';
import type { ApiKeysTable } from '../store/schema.ts';
import { newKey } from './key-form.ts';
import { scopesOf, type Holders } from './holders.ts';
import type { SignIns } from './sign-ins.ts';

/** At most this many keys are held, those that were revoked included. All of them are in memory. */
export const maxNamedKeys = 10_000;
const dayMs = 24 * 3_600_000;

type NamedKeysOptions = { known: Holders; signIns: SignIns; clock: Clock };

/** Keys with a name, scopes and a life. A key is shown once, when it is made; only its hash is stored. */
export class NamedKeys {
  readonly #options: NamedKeysOptions;

  constructor(options: NamedKeysOptions) {
    this.#options = options;
  }

  list(): ApiKeyShown[] {
    return this.#options.known.keys
      .toSorted((one, other) => (one.id < other.id ? 1 : -1))
      .map((key) => this.#shown(key));
  }

  async make({ name, scopes, days }: NewApiKey, madeBy: string): Promise<ApiKeyMade> {
    const { known, clock } = this.#options;
    await known.refresh();
    const { keys } = known;
    if (keys.length >= maxNamedKeys)
      throw new Problem(409, `there are ${maxNamedKeys} keys already, those that were revoked included`); // prettier-ignore
    if (keys.some((key) => key.name === name && this.#stateOf(key) === 'good'))
      throw new Problem(409, `there is a key "${name}" already: revoke it, or choose another name`);
    if (!scopes.includes('admin') && !known.hasAdminBeside(''))
      throw new Problem(409, 'the first key must have the scope admin, or nobody could make the next'); // prettier-ignore
    const key = newKey();
    const madeAt = clock.now();
    const row = await known.change(async (tx, revision) => {
      const made: ApiKeysTable = {
        ...{
          id: newId('key', madeAt),
          name,
          scopes: JSON.stringify(scopes),
          digest: digestOf(key),
        },
        ...{ made_by: madeBy, made_at: madeAt, revoked_at: null, revision },
        expires_at: days === undefined ? null : madeAt + days * dayMs,
      };
      await tx.insertInto('api_keys').values(made).execute();
      return made;
    });
    return { ...this.#shown(row), key };
  }

  /** From the answer on, this node refuses the key. The others do within a second. */
  async revoke(idOrName: string): Promise<ApiKeyShown> {
    const { known, signIns, clock } = this.#options;
    await known.refresh();
    const key =
      known.keys.find(({ id }) => id === idOrName) ??
      known.keys.find((one) => one.name === idOrName && this.#stateOf(one) === 'good');
    if (key === undefined) throw new Problem(404, 'there is no such key');
    if (key.revoked_at === null) {
      if (scopesOf(key).includes('admin') && !known.hasAdminBeside(key.id))
        throw new Problem(409, 'this is the last key of an admin: make another one first');
      await known.change((tx, revision) =>
        tx
          .updateTable('api_keys')
          .set({ revoked_at: clock.now(), revision })
          .where('id', '=', key.id)
          .execute(),
      );
      await signIns.endOf(key.id);
    }
    return this.#shown(known.keys.find(({ id }) => id === key.id) ?? key);
  }

  #stateOf({ revoked_at, expires_at }: ApiKeysTable): ApiKeyShown['state'] {
    if (revoked_at !== null) return 'revoked';
    return (expires_at ?? Infinity) > this.#options.clock.now() ? 'good' : 'expired';
  }

  #shown(key: ApiKeysTable): ApiKeyShown {
    const time = (ms: number | null): string | null =>
      ms === null ? null : new Date(ms).toISOString();
    return {
      id: key.id,
      name: key.name,
      scopes: scopesOf(key),
      state: this.#stateOf(key),
      made_by: key.made_by,
      made_at: new Date(key.made_at).toISOString(),
      expires_at: time(key.expires_at),
      revoked_at: time(key.revoked_at),
    };
  }
}
