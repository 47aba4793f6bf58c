import { expect, test } from 'vitest';
import { opens, reaches } from '../../../../src/bridge/panel/panel-grant.ts';

test.each([
  ['/API/calls/call_1', 'another case'],
  ['/api/calls/call_1/', 'a slash at the end'],
  ['//api/calls/call_1', 'two slashes'],
  ['/api/calls/..%2Fcall_1', 'a way up'],
  ['/api/calls/call%5F1', 'an encoded letter'],
  ['/api/calls/', 'an empty id'],
  ['/api/calls/call_1/recording', 'a recording'],
  ['/api/calls/call_1/events', 'the events'],
  ['/api/calls', 'the list'],
  ['/api/live', 'the feed of all calls'],
  ['/metrics', 'the figures'],
])('an agent does not get to %s: %s', (path) => {
  expect(opens('agent', 'GET', path)).toEqual({ opens: false });
});

test('what a scope opens names the call that has to be within its reach', () => {
  expect(opens('agent', 'GET', '/api/calls/call_1')).toEqual({ opens: true, callId: 'call_1' });
  expect(opens('agent', 'HEAD', '/api/calls/call_1')).toEqual({ opens: true, callId: 'call_1' });
  expect(opens('agent', 'DELETE', '/api/calls/call_1')).toEqual({ opens: false });
  expect(opens('agent', 'GET', '/api/panel/me')).toEqual({ opens: true, callId: undefined });
});

const ofNobody = () => [];

test('a token reaches the calls of its agent, or its call, and a call without an agent is nobody’s', () => {
  const of = { callId: undefined, expiresAt: 0, id: undefined };
  const agent = { ...of, scope: 'agent' as const, agent: 'a17' };
  const call = { ...of, scope: 'call' as const, agent: undefined, callId: 'call_1' };
  expect(reaches(agent, { id: 'call_1', agent: 'a17' }, ofNobody)).toBe(true);
  expect(reaches(agent, { id: 'call_1', agent: 'A17' }, ofNobody)).toBe(true);
  expect(reaches(agent, { id: 'call_1', agent: 'a1' }, ofNobody)).toBe(false);
  expect(reaches(agent, { id: 'call_1', agent: undefined }, ofNobody)).toBe(false);
  expect(
    reaches({ ...agent, agent: undefined }, { id: 'call_1', agent: undefined }, ofNobody),
  ).toBe(false);
  expect(reaches(call, { id: 'call_1', agent: undefined }, ofNobody)).toBe(true);
  expect(reaches(call, { id: 'call_2', agent: undefined }, ofNobody)).toBe(false);
});

test('a token of teams reaches the calls of their agents, as the teams are now', () => {
  const of = { callId: undefined, agent: undefined, expiresAt: 0, id: undefined };
  const token = { ...of, scope: 'supervisor' as const, teams: ['North', 'east'] };
  const teamsOf = (agent: string): string[] => (agent === 'a17' ? ['west', 'north'] : ['south']);
  expect(reaches(token, { id: 'call_1', agent: 'a17' }, teamsOf)).toBe(true);
  expect(reaches(token, { id: 'call_1', agent: 'a18' }, teamsOf)).toBe(false);
  expect(reaches(token, { id: 'call_1', agent: undefined }, teamsOf)).toBe(false);
  expect(reaches({ ...token, teams: [] }, { id: 'call_1', agent: 'a17' }, teamsOf)).toBe(false);
  expect(reaches({ ...token, teams: undefined }, { id: 'call_1', agent: undefined }, teamsOf)).toBe(true); // prettier-ignore
});
