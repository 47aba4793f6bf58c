import { z } from 'zod';
import {
  ApiKeyList,
  ApiKeyMade,
  ApiPerson,
  AuditCheck,
  AuditLine,
  AuditPage,
  NewApiKey,
  NewPerson,
  PersonChange,
  PersonList,
  ProviderTrial,
  SignedOut,
  SignInList,
  SignInRequest,
  SignInState,
} from '../people-reports.ts';
import { paging } from './operator-route.ts';
import { answer, json, type Route } from './route.ts';

const tag = 'People';
const key = { tag, access: 'key' } as const;

export const peopleRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/api/session',
    tag,
    access: 'public',
    summary: 'Whether a proof is needed, who is signed in, and what they may do',
    answers: { 200: answer('The state of the page’s session.', SignInState) },
  },
  {
    method: 'post',
    path: '/api/session',
    tag,
    access: 'public',
    summary: 'Turn a key, or a name and password, into a session cookie for the page',
    body: json(SignInRequest),
    answers: {
      204: { description: 'Signed in.', headers: { 'set-cookie': 'HttpOnly, SameSite=Strict.' } },
    },
    errors: [400, 401, 429],
  },
  {
    method: 'delete',
    path: '/api/session',
    tag,
    access: 'public',
    summary: 'Sign out',
    answers: {
      200: answer('Signed out here. The provider has a sign-out of its own.', SignedOut),
      204: answer('Signed out.'),
    },
  },
  {
    method: 'get',
    path: '/api/session/provider',
    tag,
    access: 'public',
    summary: 'Go to the provider that signs people in (OpenID Connect)',
    query: [
      { name: 'to', description: 'The view to come back to, as `#/calls`; anything else is ignored.', schema: z.string() }, // prettier-ignore
    ],
    answers: { 303: answer('To the provider, or back to the page with what went wrong.') },
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/session/provider/back',
    tag,
    access: 'public',
    summary: 'The redirect address at which the provider sends people back',
    query: [
      { name: 'code', description: 'The code that the provider gave.', schema: z.string() },
      { name: 'state', description: 'As the browser took it to the provider.', schema: z.string() },
    ],
    answers: {
      303: {
        description: 'To the page: signed in, or with what went wrong.',
        headers: { 'set-cookie': 'HttpOnly, SameSite=Strict.' },
      },
    },
    errors: [404],
  },
  {
    ...{ method: 'post', path: '/api/provider/trial', ...key },
    summary: 'Ask the provider that signs people in for its addresses',
    answers: { 200: answer('What was found.', ProviderTrial) },
  },
  {
    ...{ method: 'get', path: '/api/keys', ...key },
    summary: 'The named keys, those that were revoked included',
    answers: { 200: answer('Keys, newest first, without their text.', ApiKeyList) },
  },
  {
    ...{ method: 'post', path: '/api/keys', ...key },
    summary: 'Make a key',
    description: 'The first key must have the scope `admin`. From then on every request needs a key or a sign-in.', // prettier-ignore
    body: json(NewApiKey, { name: 'wallboard', scopes: ['read'], days: 365 }),
    answers: { 201: answer('The key, shown this once.', ApiKeyMade) },
    errors: [409],
  },
  {
    ...{ method: 'delete', path: '/api/keys/{id}', ...key },
    summary: 'Revoke a key, by its id or its name',
    answers: { 204: answer('Revoked. Other nodes refuse the key within two seconds.') },
    errors: [404, 409],
  },
  {
    ...{ method: 'get', path: '/api/people', ...key },
    summary: 'Everybody who may sign in',
    answers: { 200: answer('People by name.', PersonList) },
  },
  {
    ...{ method: 'post', path: '/api/people', ...key },
    summary: 'Add a person',
    description: 'The first person must be an `admin`. From then on every request needs a key or a sign-in.', // prettier-ignore
    body: json(NewPerson, {
      ...{ login: 'ann', name: 'Ann Example', roles: ['supervisor'], teams: ['north'] },
      password: 'a-password-of-your-own',
    }),
    answers: { 201: answer('The person.', ApiPerson) },
    errors: [409],
  },
  {
    ...{ method: 'patch', path: '/api/people/{id}', ...key },
    summary: 'Change a person',
    body: json(PersonChange, { teams: ['north', 'south'] }),
    answers: { 200: answer('The person.', ApiPerson) },
    errors: [404, 409],
  },
  {
    ...{ method: 'delete', path: '/api/people/{id}', ...key },
    summary: 'Remove a person, and end their sign-ins',
    answers: { 204: answer('Removed.') },
    errors: [404, 409],
  },
  {
    ...{ method: 'get', path: '/api/sign-ins', ...key },
    summary: 'The browsers that are signed in',
    answers: { 200: answer('Sign-ins, newest first.', SignInList) },
  },
  {
    ...{ method: 'delete', path: '/api/sign-ins/{id}', ...key },
    summary: 'End a sign-in',
    answers: { 204: answer('Ended.') },
    errors: [404],
  },
  {
    ...{ method: 'get', path: '/api/audit', ...key },
    summary: 'Who did what, newest first',
    query: [
      { name: 'call_id', description: 'Only lines about this call.', schema: z.string() },
      { name: 'actor', description: 'Only lines of this name or id.', schema: z.string() },
      { name: 'action', description: 'Only lines with this action.', schema: z.string() },
      ...paging,
    ],
    answers: { 200: answer('Lines of the record.', AuditPage) },
  },
  {
    ...{ method: 'get', path: '/api/audit/export', ...key },
    summary: 'All lines of the record, oldest first',
    answers: {
      200: {
        description: 'One line of JSON each.',
        content: { 'application/x-ndjson': AuditLine },
      },
    },
  },
  {
    ...{ method: 'get', path: '/api/audit/check', ...key },
    summary: 'Follow the chain of hashes from the first line to the last',
    answers: { 200: answer('What was found.', AuditCheck) },
  },
];
