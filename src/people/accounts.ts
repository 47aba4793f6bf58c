import type { Clock } from '../lib/clock.ts';
import { digestOf } from '../lib/digest.ts';
import { newId } from '../lib/ids.ts';
import { Problem } from '../port/problem.ts';
import type { ApiPerson, NewPerson, PersonChange } from '../protocol/people-reports.ts';
import type { PeopleTable } from '../store/schema.ts';
import type { ClaimedPerson } from './claimed-person.ts';
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
    if (password !== undefined && before.subject !== null)
      throw new Problem(409, `${before.login} signs in by the provider, which keeps the password`);
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

  /**
   * The person whom the provider describes, who is added or changed so that the provider's word holds. Undefined for
   * somebody without any of our roles: they lose the roles and sign-ins that they had.
   */
  async fromProvider(claimed: ClaimedPerson): Promise<PeopleTable | undefined> {
    const { known, signIns } = this.#options;
    const { subject } = claimed;
    if (known.personOf(subject) === undefined) await known.refresh();
    const before = known.personOf(subject);
    if (before === undefined && claimed.roles.length === 0) return undefined;
    if (before === undefined) await this.#addClaimed(claimed);
    else if (!isAsClaimed(before, claimed)) await this.#changeClaimed(before.id, claimed);
    const person = known.personOf(subject);
    if (claimed.roles.length > 0) return person;
    if (person !== undefined) await signIns.endOf(person.id);
    return undefined;
  }

  async #addClaimed(claimed: ClaimedPerson): Promise<void> {
    const { known, clock } = this.#options;
    if (known.people.length >= maxPeople)
      throw new Problem(409, `there are ${maxPeople} people already: remove those who left`);
    const madeAt = clock.now();
    // A login that somebody else has stays theirs. Nobody becomes another person by choosing a name at the provider.
    const isTaken = known.personNamed(claimed.login) !== undefined;
    const login = isTaken ? `${claimed.login}+${digestOf(claimed.subject).slice(0, 12)}` : claimed.login; // prettier-ignore
    await known.change((tx, revision) =>
      tx
        .insertInto('people')
        .values({
          ...{ id: newId('person', madeAt), login, name: claimed.name, password: null },
          ...{ roles: JSON.stringify(claimed.roles), teams: JSON.stringify(claimed.teams) },
          ...{ agent_id: claimed.agentId, subject: claimed.subject },
          ...{ made_at: madeAt, removed_at: null, revision },
        })
        // The same person may sign in at another node at the same moment.
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    );
  }

  async #changeClaimed(id: string, { name, roles, teams, agentId }: ClaimedPerson): Promise<void> {
    const values = { name, roles: JSON.stringify(roles), teams: JSON.stringify(teams) };
    await this.#options.known.change((tx, revision) =>
      tx
        .updateTable('people')
        .set({ ...values, agent_id: agentId, revision })
        .where('id', '=', id)
        .execute(),
    );
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

function isAsClaimed(person: PeopleTable, { name, roles, teams, agentId }: ClaimedPerson): boolean {
  return (
    person.name === name &&
    person.agent_id === agentId &&
    person.roles === JSON.stringify(roles) &&
    person.teams === JSON.stringify(teams)
  );
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
