import { expect, test } from 'vitest';
import {
  endpointOf,
  EndpointSetting,
  endpointsOf,
  OutboxConfig,
  typesOf,
} from '../../../src/outbox/config.ts';
import { callEventTypes, eventPresets } from '../../../src/protocol/events.ts';

const secrets = ['whsec_ZXhhbXBsZS1zZWNyZXQtZm9yLXRoZS1hc3Npc3QtMDE='];
const chosen = (events?: unknown) =>
  typesOf(
    endpointOf(EndpointSetting.parse({ name: 'crm', url: 'http://127.0.0.1:1/', secrets, events })),
  );

test('an endpoint chooses a preset, a list of types, or both in one list; without a choice it gets all', () => {
  expect(chosen('completed')).toEqual([...eventPresets.completed]);
  expect(chosen(['call.ended', 'call.summary'])).toEqual(['call.ended', 'call.summary']);
  expect(chosen(['call.ended', 'completed', 'call.erased'])).toEqual([
    'call.ended',
    ...eventPresets.completed,
  ]);
  expect(chosen()).toEqual(chosen('all'));
  const unasked = ['call.skipped', 'call.hint', 'call.checklist', 'call.scored'];
  expect(chosen()).toEqual(callEventTypes.filter((type) => !unasked.includes(type)));
  expect(chosen(['call.hint', 'completed'])).toContain('call.hint');
});

test('a preset that does not exist and an empty list are refused', () => {
  for (const events of ['complete', [], ['call.completed', 'lives'], ['call.skipped']])
    expect(() => chosen(events), JSON.stringify(events)).toThrow();
});

test('the endpoint of the environment has a choice too', () => {
  const config = OutboxConfig.parse({
    webhookUrl: 'http://127.0.0.1:1/',
    webhookSecret: secrets[0],
    webhookEvents: ['live'],
  });
  expect(endpointsOf(config).map(typesOf)).toEqual([[...eventPresets.live]]);
});
