import { z } from 'zod';
import { BindAgent } from '../agents.ts';
import { ApiCall } from '../api.ts';
import { BoardMessage } from '../board-messages.ts';
import {
  CallAssistance,
  HintFeedback,
  PlaybookFileList,
  PlaybookList,
  PlaybookPreview,
  PlaybookPreviewRequest,
  PlaybookDeleted,
  PlaybookSave,
  PlaybookSaved,
  PlaybookText,
  PlaybookTrial,
  PlaybookTrialRequest,
  RulesReport,
} from '../assist-events.ts';
import { answer, json, type Route } from './route.ts';

const tag = 'Assist';

/** Playbooks, and what they do in calls. */
export const assistRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/api/calls/{id}/assist',
    tag,
    summary: 'What the playbooks did in a call',
    access: 'key',
    answers: { 200: answer('Hints, alerts, tags, signals and the checklists.', CallAssistance) },
    errors: [404],
  },
  {
    method: 'post',
    path: '/api/calls/{id}/assist/feedback',
    tag,
    summary: 'Say whether a hint was useful',
    access: 'key',
    body: json(HintFeedback, {
      hit_id: 'shop/wants-refund@utt_5d1f8a2c90b7e634',
      verdict: 'useful',
    }),
    answers: { 200: answer('As it is now.', CallAssistance) },
    errors: [400, 404],
  },
  {
    method: 'put',
    path: '/api/calls/{id}/agent',
    tag,
    summary: 'Say which agent has a call',
    description:
      'For a program that knows who answered. A parameter of the call or its number may have said so before; this stands in place of that.',
    access: 'key',
    body: json(BindAgent, { id: 'a17', name: 'Omar', extension: '204' }),
    answers: { 200: answer('The call, with its agent.', ApiCall) },
    errors: [400, 404, 503],
  },
  {
    method: 'delete',
    path: '/api/calls/{id}/agent',
    tag,
    summary: 'Say that no agent has a call',
    access: 'key',
    answers: { 200: answer('The call, without an agent.', ApiCall) },
    errors: [404, 503],
  },
  {
    method: 'get',
    path: '/api/board/live',
    tag,
    summary: 'The running calls of all nodes, as a supervisor needs them',
    description:
      'Server-sent events of one kind, `board`: first all cards, then those that changed, at most four times a second for each call. A supervisor sees the calls of their teams.',
    access: 'key',
    answers: {
      200: {
        description: 'A stream of events.',
        content: { 'text/event-stream': BoardMessage },
      },
    },
    errors: [503],
  },
  {
    method: 'get',
    path: '/api/assist/playbooks',
    tag,
    summary: 'The playbooks that calls listen with',
    access: 'key',
    answers: { 200: answer('The playbooks, and the files that cannot be used.', PlaybookList) },
  },
  {
    method: 'get',
    path: '/api/assist/report',
    tag,
    summary: 'How often rules fired, and what agents said of it',
    access: 'key',
    query: [
      {
        name: 'last_days',
        description: 'The calls of so many days.',
        schema: z.int().min(1).max(365).default(30),
      },
    ],
    answers: { 200: answer('The rules that fired, those with most hits first.', RulesReport) },
    errors: [400],
  },
  {
    method: 'post',
    path: '/api/assist/reload',
    tag,
    summary: 'Read the folder of playbooks again',
    description:
      'It is read every ten seconds in any case. Calls that go on keep what they began with.',
    access: 'key',
    answers: { 200: answer('As after the reading.', PlaybookList) },
  },
  {
    method: 'post',
    path: '/api/assist/try',
    tag,
    summary: 'Try a playbook on calls that are over',
    description:
      'Says what the playbook would have done, and changes nothing. Words and sentiment are tried, and entities and key presses as long as the events of the call are kept.',
    access: 'key',
    body: json(PlaybookTrialRequest),
    answers: {
      200: answer('For each rule how often, in how many calls, and where.', PlaybookTrial),
    },
    errors: [400],
  },
  {
    method: 'post',
    path: '/api/assist/preview',
    tag,
    summary: 'Check a playbook and try it while it is written',
    description:
      'The check and the engine of `trunkline assist check` and `try`, on at most 200 calls and for at most three seconds. One at a time for each person or key: a newer one ends the older, which is answered with 409.',
    access: 'key',
    body: json(PlaybookPreviewRequest),
    answers: { 200: answer('The mistakes with their lines, or the hits.', PlaybookPreview) },
    errors: [400, 409, 503],
  },
  {
    method: 'get',
    path: '/api/assist/schema',
    tag,
    summary: 'The JSON Schema of playbooks',
    access: 'key',
    answers: { 200: answer('The schema, for editors.', z.looseObject({})) },
  },
  {
    method: 'get',
    path: '/api/assist/files',
    tag,
    summary: 'The playbooks as files',
    description:
      'Those in the folder of the node that answers, and those that come with Trunkline.',
    access: 'key',
    answers: { 200: answer('The files, and whether they can be changed here.', PlaybookFileList) },
  },
  {
    method: 'get',
    path: '/api/assist/files/{name}',
    tag,
    summary: 'The text of a playbook',
    access: 'key',
    answers: { 200: answer('The text with its digest.', PlaybookText) },
    errors: [404, 409],
  },
  {
    method: 'put',
    path: '/api/assist/files/{name}',
    tag,
    summary: 'Save a playbook',
    description:
      'Writes the whole file or nothing, and reads the folder again. A text with mistakes is not written: the answer names them with their lines. 409: the file was changed meanwhile, or nothing can be written here; the message says what to do.',
    access: 'key',
    body: json(PlaybookSave),
    answers: { 200: answer('The file as it is now, or the mistakes.', PlaybookSaved) },
    errors: [400, 409],
  },
  {
    method: 'delete',
    path: '/api/assist/files/{name}',
    tag,
    summary: 'Delete a playbook',
    description:
      'Calls that begin from then on do without its rules; running calls keep the set that they began with. 409: the file was changed meanwhile, comes with Trunkline, or nothing can be written here.',
    access: 'key',
    query: [{ name: 'digest', description: 'Of the text that is to go.', schema: z.string().max(64) }], // prettier-ignore
    answers: { 200: answer('The file as it was.', PlaybookDeleted) },
    errors: [400, 404, 409],
  },
];
