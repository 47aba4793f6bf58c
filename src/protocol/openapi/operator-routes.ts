import { z } from 'zod';
import {
  ApiCall,
  CallEventPage,
  CallDiagnostics,
  CallNotes,
  CallTranscript,
  CarrierList,
  CallPage,
  ApiCallState,
  CallSort,
  type CallItem,
  TranscribeAgain,
  TranscribeAllAgain,
  CallStatusPage,
  Installation,
  NodeList,
  LiveFeedMessage,
  NewStream,
  NewStreamRequest,
  TestCallRequest,
  TestCall,
} from '../api.ts';
import { contentFilters } from '../call-filters.ts';
import { Expected, ExpectRequest } from '../expect-request.ts';
import { LanguageModelTrial, ModelList } from '../model-reports.ts';
import { Role } from '../events.ts';
import { connectionRoutes } from './connection-routes.ts';
import { eventExamples } from '../event-examples.ts';
import { CallWrapUp, WrapUpOrder } from '../wrap-up.ts';
import { deliveryRoutes } from './delivery-routes.ts';
import { searchRoutes } from './search-routes.ts';
import { act, one, paging } from './operator-route.ts';
import { answer, json, type RouteAnswer, type Parameter, type Route } from './route.ts';

const calls = 'Calls';
const page = 'Console';

const callFilters: Parameter[] = [
  {
    name: 'search',
    description:
      'What a person has at hand: a number of a party in any form, a whole tag, the id of the call or that of the carrier. Words that were said are not searched.',
    schema: z.string(),
    example: '+1 (555) 010-0123',
  },
  {
    name: 'number',
    description:
      'Only calls from or to this number, in any form: with a country code or without, `+44`, `0044` or `(0)20`, blanks and brackets; its last 3 digits are enough. A name such as `sip:ann@example.com` must be whole.',
    schema: z.string(),
    example: '0044 20 7946 0018',
  },
  { name: 'tag', description: 'Only calls with this tag, large or small.', schema: z.string() },
  { name: 'agent', description: 'Only calls of the agent with this id.', schema: z.string() },
  {
    name: 'from_date',
    description: 'Only calls that started then or later: a date, or a date-time; UTC without zone.',
    schema: z.string(),
    example: '2026-11-01',
  },
  {
    name: 'to_date',
    description: 'Only calls that started before that date-time, or until the end of that date.',
    schema: z.string(),
    example: '2026-11-30',
  },
  { name: 'state', description: 'Only calls in this state.', schema: ApiCallState },
  {
    name: 'incomplete',
    description: 'true: only ended calls with seconds without words; false: only the others.',
    schema: z.enum(['true', 'false']),
  },
  {
    name: 'direction',
    description: 'Only calls of this direction.',
    schema: z.enum(['inbound', 'outbound']),
  },
  {
    name: 'role',
    description: 'Only ended calls with words of this party. Which words they are, no filter asks.',
    schema: Role,
  },
  { name: 'carrier', description: 'Only calls of this carrier.', schema: z.string() },
  {
    name: 'carrier_call_id',
    description: 'Only calls with this id of the carrier.',
    schema: z.string(),
  },
  ...Object.entries(contentFilters).map(([name, filter]) => ({ name, ...filter })),
];

const resumePoint: Parameter = {
  name: 'last-event-id',
  description: 'The id of the last message read: what came since follows first.',
  schema: z.string(),
};

/** A page that is reloaded cannot send a header. */
const resumeQuery: Parameter = { ...resumePoint, name: 'last_event_id' };

const feed: RouteAnswer = {
  description:
    'Server-sent events. Every message is JSON with a `type`; the CRM’s events are their envelopes, with an id to resume from.',
  content: { 'text/event-stream': LiveFeedMessage },
};

/** The parameters of links in `call.completed`. */
const linkQuery: Parameter[] = [
  { name: 'expires', description: 'Unix seconds until which it opens.', schema: z.int() },
  { name: 'signature', description: 'Of the call and that time.', schema: z.string() },
];

const recording: RouteAnswer = { description: 'Stereo WAV.', content: { 'audio/wav': 'binary' } };

const wrapUpAnswer: CallWrapUp = {
  call_id: 'call_01KAR9W3Q0M4Z7C2T5B8N1D6EX',
  state: 'delivered',
  due_at: null,
  ...eventExamples['call.wrapped'].data,
  dispositions: ['Refund', 'Damaged in transit', 'Delivery'],
};

const callItem: CallItem = {
  id: 'call_01KAR9W3Q0M4Z7C2T5B8N1D6EX',
  carrier: 'example',
  carrier_call_id: 'CA5d1c3c3f0b4a4f0e9a',
  state: 'ended',
  direction: 'inbound',
  from: '+15550100123',
  to: '+15550100200',
  started_at: '2026-11-23T09:15:00.000Z',
  hung_up_at: '2026-11-23T09:18:12.400Z',
  duration: 192.4,
  ended_at: '2026-11-23T09:18:13.100Z',
  custom_metadata: { crmCase: 'C-20417' },
  notes: 'Wants to be called back on Tuesday.',
  tags: ['refund', 'call back'],
  legs: [],
  last_turn: { role: 'agent', text: 'Thank you for calling. Goodbye.' },
};

export const operatorRoutes: readonly Route[] = [
  {
    method: 'post',
    path: '/api/streams',
    tag: calls,
    access: 'key',
    summary: 'Mint an address for one media stream',
    description:
      'One use, bound to its carrier and call; hand it to the carrier instead of a secret.',
    body: json(NewStreamRequest, { carrier: 'example', metadata: { crmCase: 'C-20417' } }),
    answers: { 201: answer('Where the carrier is to stream to.', NewStream) },
    errors: [400, 422],
  },
  {
    method: 'get',
    path: '/api/calls',
    tag: calls,
    access: 'key',
    summary: 'List calls, newest first',
    description:
      'Without their words, which `GET /api/calls/{id}` has. A call must pass every filter. A parameter that is not here is refused with 400.',
    query: [
      ...callFilters,
      {
        name: 'sort',
        description: 'By the start or by the length of the phone call; one that goes on has none.',
        schema: CallSort,
        example: 'newest',
      },
      ...paging,
    ],
    answers: {
      200: answer('A page of calls.', CallPage, { items: [callItem], next_cursor: null }),
    },
    errors: [400],
  },
  ...searchRoutes({ filters: callFilters.filter(({ name }) => name !== 'search'), callItem }),
  { ...one('/api/calls/{id}', 'Read a call'), answers: { 200: answer('The call.', ApiCall) } },
  {
    method: 'patch',
    path: '/api/calls/{id}',
    tag: calls,
    access: 'key',
    summary: 'Write notes and tags beside a call',
    description:
      'What is not named stays as it is. Tags that differ only in capitals are one. Both go with the call when it is erased.',
    body: json(CallNotes, { notes: 'Promised a call back by Friday.', tags: ['refund'] }),
    answers: { 200: answer('The call.', ApiCall) },
    errors: [400, 404],
  },
  {
    ...one(
      '/api/calls/{id}/wrap-up',
      'The record of a call: reason, actions, outcome, promises, facts',
    ),
    description:
      'Each field names the utterances that prove it. While the call goes on it is a draft from what was said so far; afterwards it waits for `TRUNKLINE_WRAP_UP_S` and goes out as `call.wrapped`.',
    answers: { 200: answer('The wrap-up.', CallWrapUp, wrapUpAnswer) },
    errors: [404, 503],
  },
  {
    method: 'put',
    path: '/api/calls/{id}/wrap-up',
    tag: calls,
    access: 'key',
    summary: 'Edit the record of an ended call',
    description:
      'Fields that are not named stay as they are. The edited record goes out at once as `call.wrapped`, with who changed what. With `revision` an edit of an older record is refused.',
    body: json(WrapUpOrder, {
      by: 'Dana',
      revision: 1,
      wrap_up: { outcome: { value: 'open' }, disposition: 'Damaged in transit' },
    }),
    answers: { 200: answer('The wrap-up.', CallWrapUp, wrapUpAnswer) },
    errors: [400, 404, 409, 503],
  },
  {
    ...one('/api/calls/{id}/transcript', 'The words of a call as a file'),
    query: [
      {
        name: 'format',
        description:
          'Everything but `json` comes as an attachment. What is not here is refused with 400.',
        schema: z.enum(['json', 'jsonl', 'txt', 'vtt', 'srt', 'csv']).default('json'),
      },
    ],
    answers: {
      200: {
        description: 'The turns; of a call in progress, those that are there.',
        content: {
          'application/json': CallTranscript,
          'text/plain': 'binary',
          'text/vtt': 'binary',
          'application/x-subrip': 'binary',
          'text/csv': 'binary',
        },
      },
    },
    errors: [400, 404],
  },
  {
    method: 'delete',
    path: '/api/calls/{id}',
    tag: calls,
    access: 'key',
    summary: 'Erase a call: rows, audio, journal, events and sessions',
    answers: {
      202: answer(
        'Erased, but another program still holds a state of the database from before; done once it has let go.',
      ),
      204: answer('Erased.'),
    },
    errors: [404, 409],
  },
  {
    ...one('/api/calls/{id}/events', 'The call’s events as they go to the CRM, in order'),
    query: [
      { name: 'type', description: 'Only events of this type.', schema: z.string() },
      ...paging,
    ],
    answers: { 200: answer('A page of events.', CallEventPage) },
  },
  {
    ...one('/api/calls/{id}/live', 'Follow one call'),
    headers: [resumePoint],
    query: [resumeQuery],
    answers: { 200: feed },
  },
  {
    ...one('/api/calls/{id}/recording', 'The recording: customer left, agent right'),
    headers: [{ name: 'range', description: 'A part of the file.', schema: z.string() }],
    answers: { 200: recording, 206: { ...recording, description: 'The part asked for.' } },
    errors: [404, 416],
  },
  {
    ...one('/shared/calls/{id}', 'Read the call that a signed link names: a page, without a key'),
    access: 'public',
    query: linkQuery,
    answers: { 200: { description: 'The page.', content: { 'text/html': 'binary' } } },
    errors: [400, 403, 404, 410],
  },
  {
    ...one(
      '/shared/calls/{id}/transcript',
      'Read all the words of the call that a signed link names, without a key',
    ),
    access: 'public',
    query: linkQuery,
    answers: { 200: answer('As the transcript of a call with `format=json`.', CallTranscript) },
    errors: [400, 403, 404, 410],
  },
  {
    ...one('/shared/calls/{id}/recording', 'Hear the call that a signed link names, without a key'),
    access: 'public',
    query: linkQuery,
    headers: [{ name: 'range', description: 'A part of the file.', schema: z.string() }],
    answers: { 200: recording, 206: { ...recording, description: 'The part asked for.' } },
    errors: [400, 403, 404, 410, 416],
  },
  {
    ...one('/api/calls/{id}/statuses', 'What the carrier’s status callbacks said about the call'),
    answers: { 200: answer('Every status, oldest first.', CallStatusPage) },
  },
  {
    ...one('/api/calls/{id}/evidence', 'What an engineer asks of one call'),
    answers: {
      200: answer('Its streams, sessions and the cadence of its frames.', CallDiagnostics),
    },
  },
  {
    ...act('/api/calls/{id}/pause', 'Pause: audio is neither kept nor sent'),
    answers: { 200: answer('The call, paused.', ApiCall) },
  },
  {
    ...act('/api/calls/{id}/resume', 'Go on after a pause'),
    answers: { 200: answer('The call, going on.', ApiCall) },
  },
  {
    method: 'delete',
    path: '/api/calls/{id}/links',
    tag: calls,
    access: 'key',
    summary: 'Close the links of a call for good: none opens it any more',
    answers: { 204: { description: 'None of them opens the call.' } },
    errors: [404],
  },
  {
    ...act(
      '/api/calls/{id}/expect',
      'Say what a party is about to say: digits, a code, letters, a date, an amount, an address',
    ),
    description:
      'Our own speech service then hears such an answer better. The last question of the other party says the same by itself; this is for a dialogue that knows it before. Another service hears as ever.',
    body: json(ExpectRequest),
    answers: { 200: answer('What is expected, of whom, and for how long.', Expected) },
    errors: [400, 409],
  },
  {
    ...act('/api/calls/{id}/transcribe', 'Transcribe again: read the recording of an ended call'),
    answers: {
      202: answer('It is read; call.transcript.revised brings the words.', TranscribeAgain),
    },
  },
  {
    ...act('/api/calls/transcribe', 'Transcribe every call again that lacks words'),
    description:
      'The newest first, 1,000 calls that lack words at a request. Ask again with `next` as `before` until it is null.',
    query: [
      {
        name: 'before',
        description: 'Only calls older than this one: `next` of the answer before.',
        schema: z.string(),
      },
    ],
    answers: { 202: answer('How many of them are read.', TranscribeAllAgain) },
    errors: [400],
  },
  {
    method: 'get',
    path: '/api/live',
    tag: calls,
    access: 'key',
    summary: 'Follow every call',
    headers: [resumePoint],
    query: [
      resumeQuery,
      {
        name: 'events',
        description:
          'Only these events and nothing else: types or presets (`completed`, `live`, `all`), with commas.',
        schema: z.string(),
      },
    ],
    answers: { 200: feed },
    errors: [400, 503],
  },

  ...deliveryRoutes,
  ...connectionRoutes,

  {
    method: 'get',
    path: '/api/models',
    tag: page,
    access: 'key',
    summary: 'The models that features of recordings need, and which are installed',
    answers: { 200: answer('One for each model.', ModelList) },
  },
  {
    ...act('/api/models/{name}/install', 'Install such a model while the process runs'),
    tag: page,
    answers: { 202: answer('Under way, or installed: GET /api/models says how far.', ModelList) },
  },

  {
    ...act('/api/language-model/trial', 'Ask the configured language model about an invented call'),
    tag: page,
    answers: { 200: answer('How it answered.', LanguageModelTrial) },
    errors: [],
  },

  {
    method: 'post',
    path: '/api/test-call',
    tag: page,
    access: 'key',
    summary: 'Place the built-in test call through the real carrier socket',
    body: json(TestCallRequest, { carrier: 'example' }),
    answers: { 202: answer('It is on its way.', TestCall) },
    errors: [409, 503],
  },
  {
    method: 'get',
    path: '/api/carriers',
    tag: page,
    access: 'key',
    summary: 'All carriers: what is set, what is missing, and the address that the carrier is told',
    answers: { 200: answer('All carriers.', CarrierList) },
  },
  {
    method: 'get',
    path: '/api/nodes',
    tag: page,
    access: 'key',
    summary: 'The processes that share the database, and which of them is lost',
    answers: { 200: answer('All nodes.', NodeList) },
  },
  {
    method: 'get',
    path: '/api/installation',
    tag: page,
    access: 'key',
    summary: 'What runs here: parts, health, model, capacity',
    answers: { 200: answer('The installation.', Installation) },
  },
];
