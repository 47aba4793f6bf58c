import { expect, test } from 'vitest';
import { isSameNumber } from '../../../../src/bridge/events/call-keys.ts';
import { agentOf } from '../../../../src/bridge/records/call-agent.ts';
import { AgentSetting } from '../../../../src/protocol/agents.ts';

const agents = [
  { id: 'a17', name: 'Omar', extension: '204', numbers: ['+1 (555) 010-0200'] },
  { id: 'a18', name: 'Ruth', extension: '205', numbers: ['sip:ruth@desk.example'] },
].map((agent) => AgentSetting.parse(agent));

const facts = (change: Partial<Parameters<typeof agentOf>[1]>) => ({
  direction: 'inbound' as const,
  from: '+15550100123',
  to: '+15550100999',
  metadata: {},
  ...change,
});

test.each([
  ['an id that the settings know', { metadata: { agent_id: 'a17' } }, { id: 'a17', name: 'Omar', extension: '204', by: 'metadata' }],
  ['an id that they do not know', { metadata: { agentId: 'x9' } }, { id: 'x9', by: 'metadata' }],
  ['an id that is a number', { metadata: { agent_id: 42 } }, { id: '42', by: 'metadata' }],
  ['an extension that the settings know', { metadata: { extension: '205' } }, { id: 'a18', name: 'Ruth', extension: '205', by: 'metadata' }],
  ['an extension that they do not know', { metadata: { extension: '999' } }, { id: '999', extension: '999', by: 'metadata' }],
  ['an id before an extension', { metadata: { agent_id: 'a17', extension: '205' } }, { id: 'a17', name: 'Omar', extension: '204', by: 'metadata' }],
  ['the number dialled, written otherwise', { to: '5550100200' }, { id: 'a17', name: 'Omar', extension: '204', by: 'number' }],
  ['an address dialled', { to: 'sip:RUTH@desk.example' }, { id: 'a18', name: 'Ruth', extension: '205', by: 'number' }],
  ['the number from which an agent calls', { direction: 'outbound' as const, from: '+15550100200', to: '+15550100123' }, { id: 'a17', name: 'Omar', extension: '204', by: 'number' }],
])('a call is bound by %s', (_name, change, expected) => {
  expect(agentOf(agents, facts(change), isSameNumber)).toEqual(expected);
}); // prettier-ignore

test.each([
  ['the caller writes the number of an agent as its own', { from: '+15550100200' }],
  ['the number is a short end of one', { to: '0200' }],
  ['the parameter is empty', { metadata: { agent_id: '  ', extension: null } }],
  ['nobody has the number', {}],
])('a call is bound to nobody where %s', (_name, change) => {
  expect(agentOf(agents, facts(change), isSameNumber)).toBeUndefined();
});
