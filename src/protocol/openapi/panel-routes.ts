import { z } from 'zod';
import { MintedPanelToken, PanelHolder, PanelTokenList, PanelTokenRequest } from '../panel.ts';
import { answer, json, type Route } from './route.ts';

const tag = 'Panel';

/** Tokens that open the panel in an agent's desktop, and what the panel asks. */
export const panelRoutes: readonly Route[] = [
  {
    method: 'post',
    path: '/api/panel/tokens',
    tag,
    summary: 'Make a token for a panel',
    description:
      'A token opens a few routes in place of a key: those of the calls of one agent, of one call, or of all calls, or those of some teams, for a supervisor or a reviewer. It is shown as `authorization: Bearer ...`.',
    access: 'key',
    body: json(PanelTokenRequest, { scope: 'agent', agent: 'a17', life_s: 28_800 }),
    answers: { 201: answer('The token, told this once.', MintedPanelToken) },
    errors: [400],
  },
  {
    method: 'get',
    path: '/api/panel/tokens',
    tag,
    summary: 'The tokens that were made',
    access: 'key',
    answers: { 200: answer('The newest tokens, without the tokens themselves.', PanelTokenList) },
  },
  {
    method: 'delete',
    path: '/api/panel/tokens/{id}',
    tag,
    summary: 'Revoke a token',
    description: 'Streams that it opened are closed within a few seconds, on all nodes.',
    access: 'key',
    answers: { 204: answer('The token opens nothing any more.') },
    errors: [404],
  },
  {
    method: 'get',
    path: '/api/panel/me',
    tag,
    summary: 'The holder of the token',
    description: 'Asked with a token of a panel, and with nothing else.',
    access: 'key',
    answers: { 200: answer('What the token opens, and until when.', PanelHolder) },
    errors: [409],
  },
  {
    method: 'get',
    path: '/api/panel/live',
    tag,
    summary: 'The calls of the token, as they come and go',
    description:
      'Server-sent events: `calls` (the ids at the beginning), `call` (a call as in a list, with each change), `gone` (erased, or another agent has it). Asked with a token of an agent or of a call.',
    access: 'key',
    answers: {
      200: { description: 'A stream of events.', content: { 'text/event-stream': z.string() } },
    },
    errors: [409, 503],
  },
];
