import { z } from 'zod';
import {
  Connected,
  ConnectionList,
  ConnectionRequest,
  ConnectionTrial,
  CrmPresetList,
  TrialPart,
} from '../connection-reports.ts';
import { one } from './operator-route.ts';
import { answer, json, type Route } from './route.ts';

const tag = 'Connections';
const example = { preset: 'hubspot', token: 'pat-eu1-...' };

/** The routes by which a CRM or a webhook is connected while the process runs. */
export const connectionRoutes: readonly Route[] = [
  {
    ...one('/api/crm-presets', 'List the CRMs that Trunkline knows, and what each needs'),
    tag,
    answers: { 200: answer('All of them.', CrmPresetList) },
    errors: [],
  },
  {
    ...one('/api/connections', 'List the endpoints that were connected while a process ran'),
    tag,
    description: 'Those of the settings are not here: GET /api/deliveries/endpoints has all.',
    answers: { 200: answer('All of them, without their secrets.', ConnectionList) },
    errors: [],
  },
  {
    method: 'post',
    path: '/api/connections/trial',
    tag,
    access: 'key',
    summary: 'Try an endpoint before it is connected',
    description:
      'A CRM is asked for what is missing, and takes a test record, which is removed at once. A webhook takes an example. Nothing is stored.',
    query: [
      {
        name: 'setup',
        description: '`true` first makes at the CRM the field that holds the id of a call.',
        schema: z.enum(['true', 'false']),
      },
    ],
    body: json(ConnectionRequest, example),
    answers: { 200: answer('The result, in words.', ConnectionTrial) },
    errors: [400, 409],
  },
  {
    method: 'post',
    path: '/api/connections/{name}/trial',
    tag,
    access: 'key',
    summary: 'Try an endpoint that was connected while a process ran',
    description:
      '`check` asks the CRM for what is missing and changes nothing; `setup` makes the field that holds the id of a call; `record` writes a test record and removes it; `kept-record` leaves it there. A webhook takes an example in each case.',
    query: [{ name: 'part', description: 'What is tried.', schema: TrialPart.default('record') }],
    answers: { 200: answer('The result, in words.', ConnectionTrial) },
    errors: [400, 404, 409],
  },
  {
    method: 'put',
    path: '/api/connections/{name}',
    tag,
    access: 'key',
    summary: 'Connect a CRM or a webhook without a restart',
    description:
      'It is kept in the database, sealed, and all nodes deliver to it. An endpoint of the settings with the same name is used in its place. The address must be public, or in TRUNKLINE_CONNECT_HOSTS. A webhook without `secrets` gets one, which is told this once.',
    body: json(ConnectionRequest, example),
    answers: { 200: answer('Connected.', Connected) },
    errors: [400, 409],
  },
  {
    method: 'delete',
    path: '/api/connections/{name}',
    tag,
    access: 'key',
    summary: 'End a connection that was made while a process ran',
    answers: { 204: { description: 'Nothing more is sent to it.' } },
    errors: [404],
  },
];
