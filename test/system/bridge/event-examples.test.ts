import { expect, test } from 'vitest';
import { eventExamples } from '../../../src/protocol/event-examples.ts';
import type { CallEventType } from '../../../src/protocol/events.ts';
import { speak, testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

/**
 * Parts that differ between calls: metadata of the operator, ids of the carrier, the language from when it is sure, gaps,
 * and the chapters of a long call.
 */
const ofOneCall =
  /^custom_metadata\.(crmCase|carrier_ids)|^call\.language$|^data\.(?:gaps|chapters)\[/;

/** `data.transcript[].text` and the like: every field, whatever its value. Lists count by what their items have. */
function fieldsOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOf(item, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, part]) =>
    fieldsOf(part, path === '' ? key : `${path}.${key}`),
  );
}

test('the examples have the fields of the events that a call makes, no more and no less', async () => {
  await using speech = await FakeSpeech.start();
  Object.assign(speech.script, { sentiment: true, entities: true });
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const tracks = [
    { name: 'inbound', channels: 1 as const },
    { name: 'outbound', channels: 1 as const },
  ];
  const { stream } = await app.open({ tracks });
  await speak(stream, 'inbound', seededAudio(16_000, 1));
  await speak(stream, 'outbound', seededAudio(16_000, 2));
  stream.end('stop');
  await app.ended(stream.callId);
  await until(() => app.bridge.calls.get(stream.callId) === undefined);
  const made: AnyJson[] = await app.events(stream.callId);
  const types = ['call.started', 'call.transcript', 'call.sentiment', 'call.entities', 'call.ended', 'call.summary', 'call.completed'] as const satisfies CallEventType[]; // prettier-ignore
  for (const type of types) {
    const ofType = made.filter((event) => event.type === type);
    expect(ofType.length, type).toBeGreaterThan(0);
    const fields = (events: unknown[]): string[] =>
      [...new Set(events.flatMap((event) => fieldsOf(event)))]
        .filter((field) => !ofOneCall.test(field))
        .toSorted();
    expect([type, fields([eventExamples[type]])]).toEqual([type, fields(ofType)]);
  }
});
