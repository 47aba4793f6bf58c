import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { Problem } from '../port/problem.ts';
import type { ApiPerson, NewPerson, PersonChange } from '../protocol/people-reports.ts';
import type { PeopleTable } from '../store/schema.ts';
import { rolesOf, teamsOf, type Holders } from './holders.ts';
import { isPassword, storedPassword } from './passwords.ts';
import type { SignIns } from './sign-ins.ts';

/** At most this many people have an account. All of them are held in memory. */
export const maxPeople = 10_000;

type AccountsOptions = { known: Holders; signIns: SignIns; clock: Clock };

/** The accounts of people who sign in here by name and password, or come from a provider. */
export class Accounts {
  readonly #options: AccountsOptions;

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  list(): ApiPerson[] {
    return this.#options.known.people
      .toSorted((one, other) => (one.login < other.login ? -1 : 1))
      .map(shown);
  }

  async add({ login, name, roles, teams, agent_id, password }: NewPerson): Promise<ApiPerson> {
    const { known, clock } = this.#options;
    await known.refresh();
    if (known.people.length >= maxPeople)
      throw new Problem(409, `there are ${maxPeople} people already: remove those who left`);
    if (known.personNamed(login) !== undefined)
      throw new Problem(409, `there is a person "${login}" already`);
    if (!roles.includes('admin') && !known.hasAdminBeside(''))
      throw new Problem(409, 'the first person must be an admin, or nobody could add the next');
    const madeAt = clock.now();
    const stored = await storedPassword(password);
    const row = await known.change(async (tx, revision) => {
      const added = {
        ...{ id: newId('person', madeAt), login, name: name ?? login, password: stored },
        ...{ roles: JSON.stringify(roles), teams: JSON.stringify(teams) },
        ...{ agent_id: agent_id ?? null, subject: null },
        ...{ made_at: madeAt, removed_at: null, revision },
      };
      const { numInsertedOrUpdatedRows } = await tx
        .insertInto('people')
        .values(added)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      // Another node may have added the same name a moment ago.
      return numInsertedOrUpdatedRows === 0n ? undefined : added;
    });
    if (row === undefined) throw new Problem(409, `there is a person "${login}" already`);
    return shown(row);
  }

  async edit(id: string, change: PersonChange): Promise<ApiPerson> {
    const { known, signIns } = this.#options;
    const before = this.#found(id);
    if (change.roles !== undefined && !change.roles.includes('admin')) this.#keepsAnAdmin(before);
    const { name, roles, teams, agent_id, password } = change;
    const stored = password === undefined ? undefined : await storedPassword(password);
    await known.change((tx, revision) =>
      tx
        .updateTable('people')
        .set({
          revision,
          ...(name === undefined ? {} : { name }),
          ...(roles === undefined ? {} : { roles: JSON.stringify(roles) }),
          ...(teams === undefined ? {} : { teams: JSON.stringify(teams) }),
          ...(agent_id === undefined ? {} : { agent_id }),
          ...(stored === undefined ? {} : { password: stored }),
        })
        .where('id', '=', id)
        .execute(),
    );
    // Somebody who knew the old password may be signed in somewhere.
    if (stored !== undefined) await signIns.endOf(id);
    return shown(this.#found(id));
  }

  async remove(id: string): Promise<void> {
    const { known, signIns, clock } = this.#options;
    const before = this.#found(id);
    this.#keepsAnAdmin(before);
    await known.change((tx, revision) =>
      tx
        .updateTable('people')
        // The name becomes free for somebody else.
        .set({ removed_at: clock.now(), revision, login: id, subject: null, password: null })
        .where('id', '=', id)
        .execute(),
    );
    await signIns.endOf(id);
  }

  /** The person with this name and password. Takes as long for a name that nobody has. */
  async withPassword(login: string, password: string): Promise<PeopleTable | undefined> {
    const { known } = this.#options;
    if (known.personNamed(login) === undefined) await known.refresh();
    const person = known.personNamed(login);
    return (await isPassword(person?.password ?? undefined, password)) ? person : undefined;
  }

  #found(id: string): PeopleTable {
    const person = this.#options.known.people.find((one) => one.id === id);
    if (person === undefined) throw new Problem(404, 'there is no such person');
    return person;
  }

  #keepsAnAdmin(person: PeopleTable): void {
    if (!rolesOf(person).includes('admin') || this.#options.known.hasAdminBeside(person.id)) return;
    throw new Problem(409, `${person.login} is the last admin: make another one first`);
  }
}

function shown(person: PeopleTable): ApiPerson {
  return {
    id: person.id,
    login: person.login,
    name: person.name,
    roles: rolesOf(person),
    teams: teamsOf(person),
    agent_id: person.agent_id,
    signs_in_by: person.subject === null ? 'password' : 'provider',
    made_at: new Date(person.made_at).toISOString(),
  };
}
