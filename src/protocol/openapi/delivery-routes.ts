import { z } from 'zod';
import {
  ChangedDeliveries,
  ApiJobCallbackState,
  JobCallbackPage,
  TestEvent,
  TestEventRequest,
} from '../api.ts';
import {
  ApiCallDeliveryState,
  ApiDelivery,
  ApiDeliveryState,
  CallDeliveryPage,
  DeliveryPage,
  EndpointPage,
  ReleaseCallRequest,
  RetryCallRequest,
} from '../delivery-reports.ts';
import { callEventTypes } from '../events.ts';
import { Uuid } from '../values.ts';
import { act, one, paging } from './operator-route.ts';
import { answer, json, type Route } from './route.ts';
const deliveries = 'Deliveries';

/** The routes of events on their way to webhooks, and of callbacks of jobs. */
export const deliveryRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/api/deliveries',
    tag: deliveries,
    access: 'key',
    summary: 'List deliveries, newest first',
    query: [
      { name: 'state', description: 'Only those in this state.', schema: ApiDeliveryState },
      { name: 'call_id', description: 'Only those of this call.', schema: z.string() },
      { name: 'endpoint', description: 'Only those to this endpoint.', schema: z.string() },
      {
        name: 'by',
        description: '`call`: of each call only the event that the others wait for.',
        schema: z.enum(['call']),
      },
      ...paging,
    ],
    answers: { 200: answer('A page of deliveries.', DeliveryPage) },
    errors: [400],
  },
  {
    method: 'get',
    path: '/api/deliveries/calls',
    tag: deliveries,
    access: 'key',
    summary: 'List deliveries by call and endpoint, newest calls first',
    description: 'One row for each call at each endpoint, with the event that the others wait for.',
    query: [
      { name: 'state', description: 'Only calls in this state.', schema: ApiCallDeliveryState },
      { name: 'endpoint', description: 'Only at this endpoint.', schema: z.string() },
      { name: 'call_id', description: 'Only this call.', schema: z.string() },
      {
        name: 'type',
        description: 'Only calls with an event of this type.',
        schema: z.enum(callEventTypes),
      },
      {
        name: 'from_date',
        description: 'Only calls that began then or later.',
        schema: z.iso.datetime({ offset: true }),
        example: '2026-11-01T00:00:00Z',
      },
      {
        name: 'to_date',
        description: 'Only calls that began before.',
        schema: z.iso.datetime({ offset: true }),
        example: '2026-12-01T00:00:00Z',
      },
      ...paging,
    ],
    answers: { 200: answer('A page of calls.', CallDeliveryPage) },
    errors: [400],
  },
  {
    ...one(
      '/api/deliveries/endpoints',
      'List the webhook endpoints, and whether each takes its events',
    ),
    tag: deliveries,
    answers: { 200: answer('Every endpoint.', EndpointPage) },
    errors: [],
  },
  {
    ...act('/api/deliveries/endpoints/{name}/enable', 'Switch an endpoint on again'),
    tag: deliveries,
    answers: { 202: answer('It is on; what waited for it is on its way.', ChangedDeliveries) },
  },
  {
    ...one('/api/deliveries/{id}', 'Inspect a delivery'),
    tag: deliveries,
    answers: { 200: answer('The delivery.', ApiDelivery) },
  },
  {
    ...act('/api/deliveries/{id}/retry', 'Try a parked or pending delivery now'),
    tag: deliveries,
    answers: { 202: answer('On its way.', ChangedDeliveries) },
  },
  {
    ...act('/api/test-events', 'Send an example of an event, marked as a test'),
    description:
      'It goes the way of real events: stored, signed, in its turn, to those who listen, and to every webhook that wants its type and gets our envelope; to one with a mapping only where `endpoint` names it. `test` is true in it, and its call is none of `/api/calls`.',
    tag: deliveries,
    body: json(TestEventRequest, { type: 'call.completed' }),
    answers: { 202: answer('Stored, and on its way.', TestEvent) },
    errors: [400],
  },
  {
    ...act('/api/calls/{id}/deliveries/retry', 'Send a call’s events again from event n on'),
    tag: deliveries,
    body: json(RetryCallRequest, { from: 7 }),
    answers: { 202: answer('On their way.', ChangedDeliveries) },
  },
  {
    ...act('/api/calls/{id}/deliveries/release', 'Let what waits behind a parked event go'),
    tag: deliveries,
    body: json(ReleaseCallRequest, { endpoint: 'crm' }),
    answers: { 202: answer('On their way.', ChangedDeliveries) },
  },

  {
    method: 'get',
    path: '/api/job-callbacks',
    tag: deliveries,
    access: 'key',
    summary: 'List callbacks of pre-recorded jobs that have not arrived, newest first',
    description: 'One that has arrived is gone from here; a parked one goes with its job.',
    query: [
      { name: 'state', description: 'Only those in this state.', schema: ApiJobCallbackState },
      { name: 'job_id', description: 'Only those of this job.', schema: Uuid },
      ...paging,
    ],
    answers: { 200: answer('A page of callbacks.', JobCallbackPage) },
    errors: [400],
  },
  {
    ...act('/api/job-callbacks/{id}/retry', 'Send a parked callback of a job again'),
    tag: deliveries,
    answers: { 202: answer('On its way, by the same identity.', ChangedDeliveries) },
  },
];
