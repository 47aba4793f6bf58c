import type { IncomingMessage } from 'node:http';
import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import { digestOf } from '../lib/digest.ts';
import { isFromOwnOrigin, type PublicUrl } from '../port/addresses.ts';
import { isOneOf, settingKey, type Directory, type Principal } from '../port/principal.ts';
import type { KeyScope, PersonRole } from '../protocol/rights.ts';
import type { ApiKeysTable, Database, PeopleTable, SignInsTable } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { hasKeyForm } from './key-form.ts';

export const signInCookie = 'trunkline_session';

type HoldersOptions = {
  store: Store;
  clock: Clock;
  /** The keys of the settings. A browser that signed in with one that is gone is signed out. */
  settingKeys: readonly string[];
  /** True if a provider signs people in. Nobody is admitted without a proof then, even before the first person. */
  hasProvider?: boolean;
};

/**
 * All keys, people and sign-ins, in memory, because every request asks for them. Each change has a number, and all
 * nodes look for changes once a second and when they meet a key that they do not know.
 */
export class Holders implements Directory {
  readonly #options: HoldersOptions;
  readonly #people = new Map<string, PeopleTable>();
  readonly #keys = new Map<string, ApiKeysTable>();
  readonly #signIns = new Map<string, SignInsTable>();
  /** The rights of each person, made when they are first asked for. A change of any person may change every team. */
  readonly #principals = new Map<string, Principal>();
  readonly #settingMarks: ReadonlySet<string>;
  #publicUrl: PublicUrl = () => '';
  #revision = -1;
  #reading: Promise<void> | undefined;
  #nextReading: Promise<void> | undefined;

  private constructor(options: HoldersOptions) {
    this.#options = options;
    this.#settingMarks = new Set(options.settingKeys.map(markOf));
  }

  static async open(options: HoldersOptions): Promise<Holders> {
    const known = new Holders(options);
    await known.refresh();
    return known;
  }

  /** The port knows its address only once it listens. */
  answersAt(publicUrl: PublicUrl): void {
    this.#publicUrl = publicUrl;
  }

  /** Keys that were revoked and people who were removed count too: what they closed does not open again. */
  get asksForProof(): boolean {
    return this.#options.hasProvider === true || this.#keys.size > 0 || this.#people.size > 0;
  }

  get hasPeople(): boolean {
    return this.people.length > 0;
  }

  get people(): PeopleTable[] {
    return [...this.#people.values()].filter((person) => person.removed_at === null);
  }

  get keys(): ApiKeysTable[] {
    return [...this.#keys.values()];
  }

  get signIns(): SignInsTable[] {
    return [...this.#signIns.values()].filter((row) => this.#holderIn(row) !== undefined);
  }

  /** True if somebody would still be an admin without this key or person. */
  hasAdminBeside(id: string): boolean {
    return (
      this.#settingMarks.size > 0 ||
      this.keys.some(
        (key) => key.id !== id && this.#isGood(key) && scopesOf(key).includes('admin'),
      ) ||
      this.people.some((person) => person.id !== id && rolesOf(person).includes('admin'))
    );
  }

  personNamed(login: string): PeopleTable | undefined {
    return this.people.find((person) => person.login === login);
  }

  personOf(subject: string): PeopleTable | undefined {
    return this.people.find((person) => person.subject === subject);
  }

  hasForm(key: string): boolean {
    return hasKeyForm(key);
  }

  holderOf(text: string): Principal | undefined {
    if (!hasKeyForm(text)) return undefined;
    const key = this.#keys.get(digestOf(text));
    return key === undefined ? undefined : this.#principalOfKey(key);
  }

  isUnknown(request: IncomingMessage): boolean {
    const token = tokenOf(request);
    return token !== undefined && !this.#signIns.has(digestOf(token));
  }

  /** Undefined unless the request comes from a signed-in browser and, for changes, from our own page. */
  signedIn(request: IncomingMessage): Principal | undefined {
    const row = this.signInOf(request);
    if (row === undefined) return undefined;
    // This is a second protection beside SameSite=Strict, which some browsers may not support.
    const changes = request.method !== 'GET' && request.method !== 'HEAD';
    if (changes && !isFromOwnOrigin(request, this.#publicUrl)) return undefined;
    return this.#holderIn(row);
  }

  signInOf(request: IncomingMessage): SignInsTable | undefined {
    const token = tokenOf(request);
    return token === undefined ? undefined : this.#signIns.get(digestOf(token));
  }

  nameOf(row: SignInsTable): string {
    return this.#holderIn(row)?.name ?? '';
  }

  principalOfPerson(person: PeopleTable): Principal {
    const known = this.#principals.get(person.id);
    if (known !== undefined) return known;
    const made = this.#madePrincipal(person);
    this.#principals.set(person.id, made);
    return made;
  }

  #madePrincipal(person: PeopleTable): Principal {
    const own = person.agent_id === null ? [] : [person.agent_id];
    const teams = teamsOf(person);
    const colleagues = this.people.filter((one) =>
      teamsOf(one).some((team) => teams.includes(team)),
    );
    const agents = colleagues.flatMap(({ agent_id }) => agent_id ?? []);
    return {
      kind: 'person',
      id: person.id,
      name: person.name,
      scopes: [],
      roles: rolesOf(person),
      agents: { own, team: [...new Set([...own, ...agents])] },
    };
  }

  /** The teams of the people who are this agent. */
  teamsOfAgent(agent: string): string[] {
    const people = this.people.filter(({ agent_id }) => agent_id !== null && isOneOf([agent_id], agent)); // prettier-ignore
    return [...new Set(people.flatMap(teamsOf))];
  }

  agentsOf(team: string): string[] {
    return this.people
      .filter((person) => teamsOf(person).some((one) => one.toLowerCase() === team.toLowerCase()))
      .flatMap(({ agent_id: agent }) => agent ?? []);
  }

  async mayTouch(agents: readonly string[], callId: string): Promise<boolean> {
    if (agents.length === 0) return false;
    const row = await this.#options.store.db
      .selectFrom('calls')
      .select('agent')
      .where('id', '=', callId)
      .executeTakeFirst();
    if (row?.agent == null) return false;
    const { id } = JSON.parse(row.agent) as { id: string };
    return isOneOf(agents, id);
  }

  /** Changes something in one transaction. All changes are made one after another, in the order of their numbers. */
  async change<T>(work: (tx: Transaction<Database>, revision: number) => Promise<T>): Promise<T> {
    const result = await this.#options.store.transaction(async (tx) => {
      const { revision } = await tx
        .updateTable('people_state')
        .set((eb) => ({ revision: eb('revision', '+', 1) }))
        .where('name', '=', 'people')
        .returning('revision')
        .executeTakeFirstOrThrow();
      return work(tx, revision);
    });
    await this.refresh();
    return result;
  }

  /** Callers that come while rows are read wait for one further reading, which they share. */
  refresh(): Promise<void> {
    if (this.#reading === undefined) return this.#read();
    return (this.#nextReading ??= this.#reading
      .catch(() => undefined) // the caller of that reading was told
      .then(() => {
        this.#nextReading = undefined;
        return this.#read();
      }));
  }

  #read(): Promise<void> {
    const reading = this.#readChanges().finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    return (this.#reading = reading);
  }

  async #readChanges(): Promise<void> {
    const { db } = this.#options.store;
    const state = await db
      .selectFrom('people_state')
      .select('revision')
      .where('name', '=', 'people')
      .executeTakeFirstOrThrow();
    const { revision } = state;
    if (revision === this.#revision) return;
    const [people, keys, signIns] = await Promise.all([
      changed(db, 'people', this.#revision),
      changed(db, 'api_keys', this.#revision),
      changed(db, 'sign_ins', this.#revision),
    ]);
    for (const person of people) this.#people.set(person.id, person);
    if (people.length > 0) this.#principals.clear();
    for (const key of keys) this.#keys.set(key.digest, key);
    for (const row of signIns)
      if (this.#isOpen(row)) this.#signIns.set(row.digest, row);
      else this.#signIns.delete(row.digest);
    for (const [digest, row] of this.#signIns) if (!this.#isOpen(row)) this.#signIns.delete(digest);
    this.#revision = revision;
  }

  #holderIn(row: SignInsTable): Principal | undefined {
    if (!this.#isOpen(row)) return undefined;
    if (row.kind === 'setting') return this.#settingMarks.has(row.holder) ? settingKey : undefined;
    if (row.kind === 'key') {
      const key = this.keys.find(({ id }) => id === row.holder);
      return key === undefined ? undefined : this.#principalOfKey(key);
    }
    const person = this.#people.get(row.holder);
    if (person === undefined || person.removed_at !== null) return undefined;
    return this.principalOfPerson(person);
  }

  #principalOfKey(key: ApiKeysTable): Principal | undefined {
    if (!this.#isGood(key)) return undefined;
    const { id, name } = key;
    const agents = { own: [], team: [] };
    return { kind: 'key', id, name, scopes: scopesOf(key), roles: [], agents };
  }

  #isGood({ revoked_at, expires_at }: ApiKeysTable): boolean {
    return revoked_at === null && (expires_at ?? Infinity) > this.#options.clock.now();
  }

  #isOpen({ ended_at, expires_at }: SignInsTable): boolean {
    return ended_at === null && expires_at > this.#options.clock.now();
  }
}

async function changed<Table extends 'people' | 'api_keys' | 'sign_ins'>(
  db: Kysely<Database>,
  table: Table,
  since: number,
): Promise<Database[Table][]> {
  const rows = await db
    .selectFrom(table as 'people')
    .selectAll()
    .where('revision', '>', since)
    .execute();
  return rows as unknown as Database[Table][];
}

/** By this mark a key of the settings is known again. It is too short to tell anything about the key. */
export function markOf(key: string): string {
  return digestOf(`trunkline sign-in ${key}`).slice(0, 8);
}

export function scopesOf({ scopes }: Pick<ApiKeysTable, 'scopes'>): KeyScope[] {
  return JSON.parse(scopes) as KeyScope[];
}

export function rolesOf({ roles }: Pick<PeopleTable, 'roles'>): PersonRole[] {
  return JSON.parse(roles) as PersonRole[];
}

export function teamsOf({ teams }: Pick<PeopleTable, 'teams'>): string[] {
  return JSON.parse(teams) as string[];
}

function tokenOf(request: IncomingMessage): string | undefined {
  for (const pair of request.headers.cookie?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === signInCookie && value && /^[\w-]{43}$/.test(value)) return value;
  }
  return undefined;
}
