import { Router, type Request, type Response } from 'express';
import type { z } from 'zod';
import { Problem } from '../port/problem.ts';
import { principalOf, thisMachine } from '../port/principal.ts';
import type { Door } from '../port/http.ts';
import {
  NewApiKey,
  NewPerson,
  PersonChange,
  type ApiKeyList,
  type ApiKeyMade,
  type PersonList,
  type SignInList,
} from '../protocol/people-reports.ts';
import { check } from '../protocol/validation.ts';
import type { Accounts } from './accounts.ts';
import { actorOf, type Audit } from './audit.ts';
import type { Holders } from './holders.ts';
import type { NamedKeys } from './named-keys.ts';
import type { SignIns } from './sign-ins.ts';

type PeopleApiOptions = {
  door: Door;
  known: Holders;
  accounts: Accounts;
  keys: NamedKeys;
  signIns: SignIns;
  audit: Audit;
};

/** Routes by which admins make keys, add people and end sign-ins. */
export function peopleApi(options: PeopleApiOptions): Router {
  return Router().use(keysApi(options), accountsApi(options), signInsApi(options));
}

/** Keeps a line about something that was done. */
function tellerOf({ door, audit }: PeopleApiOptions) {
  return async (
    request: Request<never> | Request,
    response: Response,
    action: string,
    detail: string,
  ): Promise<void> => {
    const actor = actorOf(principalOf(response) ?? thisMachine);
    await audit.add({ ...actor, action, detail, address: door.clientOf(request) });
  };
}

function keysApi({ keys, ...options }: PeopleApiOptions): Router {
  const router = Router();
  const tell = tellerOf({ keys, ...options });
  router.get('/api/keys', (_request, response) => {
    response.json({ items: keys.list() } satisfies ApiKeyList);
  });
  router.post('/api/keys', async (request, response) => {
    const made: ApiKeyMade = await keys.make(
      readBody(NewApiKey, request),
      principalOf(response)?.name ?? '',
    );
    const { id, name, scopes } = made;
    await tell(request, response, 'made a key', `${id} "${name}" with ${scopes.join(', ')}`);
    response.status(201).json(made);
  });
  router.delete('/api/keys/:id', async (request, response) => {
    const key = await keys.revoke(request.params.id);
    await tell(request, response, 'revoked a key', `${key.id} "${key.name}"`);
    response.status(204).end();
  });

  return router;
}

function accountsApi({ accounts, ...options }: PeopleApiOptions): Router {
  const router = Router();
  const tell = tellerOf({ accounts, ...options });
  router.get('/api/people', (_request, response) => {
    response.json({ items: accounts.list() } satisfies PersonList);
  });
  router.post('/api/people', async (request, response) => {
    const added = await accounts.add(readBody(NewPerson, request));
    await tell(request, response, 'added a person', `${added.id} ${added.login} as ${added.roles.join(', ')}`); // prettier-ignore
    response.status(201).json(added);
  });
  router.patch('/api/people/:id', async (request, response) => {
    const change = readBody(PersonChange, request);
    const person = await accounts.edit(request.params.id, change);
    const fields = Object.keys(change).join(', ');
    await tell(request, response, 'changed a person', `${person.id} ${person.login}: ${fields}`);
    response.json(person);
  });
  router.delete('/api/people/:id', async (request, response) => {
    const { id } = request.params;
    await accounts.remove(id);
    await tell(request, response, 'removed a person', id);
    response.status(204).end();
  });

  return router;
}

function signInsApi({ known, signIns, ...options }: PeopleApiOptions): Router {
  const router = Router();
  const tell = tellerOf({ known, signIns, ...options });
  router.get('/api/sign-ins', (request, response) => {
    const own = known.signInOf(request)?.id;
    const list: SignInList = {
      items: known.signIns
        .toSorted((one, other) => other.made_at - one.made_at)
        .map((row) => ({
          id: row.id,
          who: known.nameOf(row),
          kind: row.kind,
          holder: row.kind === 'setting' ? 'setting' : row.holder,
          address: row.address,
          made_at: new Date(row.made_at).toISOString(),
          expires_at: new Date(row.expires_at).toISOString(),
          this_one: row.id === own,
        })),
    };
    response.json(list);
  });
  router.delete('/api/sign-ins/:id', async (request, response) => {
    const { id } = request.params;
    await known.refresh();
    const row = known.signIns.find((one) => one.id === id);
    if (row === undefined) throw new Problem(404, 'there is no such sign-in');
    const who = known.nameOf(row);
    await signIns.end([id]);
    await tell(request, response, 'ended a sign-in', `${id} of ${who}`);
    response.status(204).end();
  });
  return router;
}

function readBody<Schema extends z.ZodType>(schema: Schema, request: Request): z.output<Schema> {
  const parsed = check(schema, request.body);
  if (parsed.ok) return parsed.value;
  throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
}
