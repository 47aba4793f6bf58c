import { expect, test } from 'vitest';
import { claimedPerson } from '../../../src/people/claimed-person.ts';
import { PeopleConfig, providerProblems } from '../../../src/people/config.ts';

const issuer = 'https://id.example.com';
const settings = (given: object = {}) => PeopleConfig.parse({ provider: given }).provider;
const person = (claims: object, given: object = {}) =>
  claimedPerson(issuer, { sub: 'u1', ...claims }, settings(given));

test('roles come from the claim that is named, by its own name, by the names on its way, and by rules', () => {
  expect(person({ roles: ['admin', 'cook'] })).toMatchObject({ roles: ['admin'] });
  expect(person({ roles: 'quality' })).toMatchObject({ roles: ['quality'] });
  const dotted = 'https://example.com/roles';
  expect(person({ [dotted]: ['agent'] }, { rolesClaim: dotted })).toMatchObject({ roles: ['agent'] }); // prettier-ignore
  const inside = { rolesClaim: 'realm_access.roles' };
  expect(person({ realm_access: { roles: ['agent'] } }, inside)).toMatchObject({ roles: ['agent'] }); // prettier-ignore
  const rules = { roles: ['G=1=admin', 'qa = quality'] };
  expect(person({ roles: ['qa', 'G=1', 'operator'] }, rules)).toMatchObject({ roles: ['quality', 'admin'] }); // prettier-ignore
  for (const roles of [undefined, null, 5, {}, [[]], ['ADMIN'], 'constructor'])
    expect(person({ roles })).toMatchObject({ roles: [] });
  for (const path of ['__proto__.roles', 'constructor.name', 'roles.length'])
    expect(person({ roles: ['admin'] }, { rolesClaim: path })).toMatchObject({ roles: [] });
});

test('the login has the form of any other, the name has no sign that moves a cursor, and a person without a subject is nobody', () => {
  expect(person({ preferred_username: 'Ann', name: 'Ann\u202e\n' })).toMatchObject({
    ...{ login: 'ann', name: 'Ann', subject: `${issuer} u1` },
  });
  expect(person({ preferred_username: 'a b', email: 'Ann@example.com' })).toMatchObject({ login: 'ann@example.com', name: 'ann@example.com' }); // prettier-ignore
  expect(person({ sub: '|x y|' })).toMatchObject({ login: expect.stringMatching(/^person-[0-9a-f]{12}$/) as string }); // prettier-ignore
  for (const sub of ['', undefined, 7, 'x'.repeat(256)])
    expect(person({ sub })).toHaveProperty('problem');
});

test('too many teams, a long one and a long agent are refused with the number', () => {
  const given = { teamsClaim: 'groups', agentClaim: 'agent' };
  const many = Array.from({ length: 101 }, (_, at) => `team-${at}`);
  expect(person({ groups: many }, given)).toEqual({ problem: expect.stringContaining('101 teams') as string }); // prettier-ignore
  expect(person({ groups: ['x'.repeat(101)] }, given)).toEqual({ problem: expect.stringContaining('101 characters') as string }); // prettier-ignore
  expect(person({ agent: 'x'.repeat(201) }, given)).toEqual({ problem: expect.stringContaining('201 characters') as string }); // prettier-ignore
  expect(person({ groups: ['b', 'a', 'b', ''], agent: 1007 }, given)).toMatchObject({ teams: ['b', 'a'], agentId: '1007' }); // prettier-ignore
});

test('settings that lack another one, and rules that name no role of ours, are refused', () => {
  expect(providerProblems(settings())).toEqual([]);
  expect(providerProblems(settings({ issuer }))).toEqual([expect.stringContaining('TRUNKLINE_OIDC_CLIENT_ID')]); // prettier-ignore
  expect(providerProblems(settings({ clientId: 'x' }))).toEqual([expect.stringContaining('TRUNKLINE_OIDC_ISSUER')]); // prettier-ignore
  expect(providerProblems(settings({ issuer, clientId: 'x' }))).toEqual([]);
  expect(providerProblems(settings({ issuer: 'http://127.0.0.1:9000', clientId: 'x' }))).toEqual(
    [],
  );
  expect(providerProblems(settings({ issuer: 'http://id.example.com', clientId: 'x' }))).toEqual([expect.stringContaining('must be https')]); // prettier-ignore
  for (const roles of [['qa=boss'], ['=admin'], ['admin']])
    expect(() => settings({ roles })).toThrow(/VALUE=ROLE/);
});
