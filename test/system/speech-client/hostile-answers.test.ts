import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ServerMessage } from '../../../src/protocol/live-messages.ts';
import { maxIdentities, SeenMessages } from '../../../src/speech-client/message-identity.ts';
import type { SpeechSession } from '../../../src/speech-client/speech-session.ts';
import { faultsOf, legRig } from '../../support/bridge/leg-rig.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { until } from '../../support/process/until.ts';

/** Errors that would have ended the process. */
function deadlyErrors(): unknown[] {
  const errors: unknown[] = [];
  const note = (error: unknown): unknown => errors.push(error);
  process.on('unhandledRejection', note);
  process.on('uncaughtException', note);
  onTestFinished(() => {
    process.off('unhandledRejection', note);
    process.off('uncaughtException', note);
  });
  return errors;
}

describe('no answer of the speech service can end the process', () => {
  test('a session address with a fragment leads to the session all the same', async () => {
    const errors = deadlyErrors();
    await using speech = await FakeSpeech.start({ words: 'frames' });
    speech.addressSuffix = '#fragment';
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg();
    leg.push(50);
    await until(() => leg.leg.ledger().acknowledged === 8_000 || errors.length > 0);
    expect(errors).toEqual([]);
    await leg.leg.finish({ finalsMs: 5_000, withinMs: 5_000 });
    expect(faultsOf(leg)).toEqual([]);
  });

  test.each([
    '#',
    '?#',
    ' ',
    '\0',
    'ws:',
    'ws://',
    'ws://[',
    'ws://127.0.0.1:99999/',
    'ws://127.0.0.1:0/',
    'ws+unix:/tmp/socket',
    'data:,',
    'javascript:1',
    '//',
    '/\\',
    '\ud800',
    'ws://user:secret@127.0.0.1/',
    '/%%%',
  ])('a session address %j is a session that cannot be had', async (url) => {
    const errors = deadlyErrors();
    await using speech = await FakeSpeech.start({ words: 'frames' });
    speech.script.create = () => ({ status: 201, body: { id: randomUUID(), url } });
    await using rig = await legRig({ url: speech.url, config: { maxSessionsPerLeg: 2 } });
    const leg = rig.leg();
    leg.push(10);
    await until(
      () =>
        ['waiting', 'resuming', 'journal-only'].includes(leg.leg.state().at) || errors.length > 0,
    );
    const { ledger } = await leg.leg.finish({ finalsMs: 100, withinMs: 100 });
    expect(ledger).toMatchObject({ received: 1_600, gaps: 1_600 });
    expect(errors).toEqual([]);
  });

  test.each(['\0', '\ud800', 'two words', ''])(
    'a session that is called %j is none that can be read, stored or erased: it is not begun',
    async (id) => {
      const errors = deadlyErrors();
      await using speech = await FakeSpeech.start({ words: 'frames' });
      speech.script.create = () => ({
        status: 201,
        body: { id, url: `ws://127.0.0.1:${speech.port}/v2/live?token=x` },
      });
      await using rig = await legRig({ url: speech.url });
      const leg = rig.leg();
      leg.push(10);
      await until(() => leg.leg.state().at === 'waiting');
      expect(leg.leg.sessions()).toEqual([]);
      await leg.leg.abandon();
      expect(errors).toEqual([]);
    },
  );

  test('an address that an earlier process has left is a session that is gone', async () => {
    const errors = deadlyErrors();
    await using rig = await legRig({ url: 'http://127.0.0.1:9' });
    const over = new Promise<string>((resolve) => {
      const session: SpeechSession = rig.speech.session({
        id: randomUUID(),
        url: 'ws://[',
        from: 0,
        takenOver: true,
        source: { end: () => 0, ended: () => false, read: () => Buffer.alloc(0) },
        bytesPerSecond: 8_000,
        log: rig.log,
        onMessage: () => undefined,
        onAcknowledged: () => undefined,
        onTakenBack: () => undefined,
        onLink: () => undefined,
        onOver: (reason) => resolve(`${reason} ${session.open}`),
      });
    });
    expect(await over).toBe('gone false');
    expect(errors).toEqual([]);
  });

  test('an error in what is done with a message costs that message and no other', async () => {
    const errors = deadlyErrors();
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url, clock: new TestClock(5) });
    let told = 0;
    const leg = rig.leg({
      onMessage() {
        if (++told === 1) throw new Error('a bug');
      },
    });
    leg.push(100);
    await leg.leg.finish({ finalsMs: 5_000, withinMs: 5_000 });
    expect(told).toBeGreaterThan(1);
    expect(leg.leg.ledger()).toMatchObject({ received: 16_000, acknowledged: 16_000 });
    expect(errors).toEqual([]);
  });
});

describe('messages are bounded as they come in', () => {
  const utteranceOf = (overrides: object): object => ({
    start: 0,
    end: 0.5,
    confidence: 1,
    channel: 0,
    words: [],
    text: 'strange',
    language: 'en',
    ...overrides,
  });

  async function hearing(messages: { type: string; data: object }[]): Promise<ServerMessage[]> {
    await using speech = await FakeSpeech.start({ words: 'frames' });
    await using rig = await legRig({ url: speech.url });
    const leg = rig.leg();
    leg.push(30);
    await until(() => leg.words.length === 25);
    const [session] = speech.sessions.values();
    const envelope = { session_id: session!.id, created_at: new Date().toISOString() };
    const heard = leg.messages.length;
    for (const message of messages)
      session!.socket!.send(JSON.stringify({ ...envelope, ...message }));
    leg.push(50); // what is said of them comes after the messages
    await until(() => leg.words.some(({ word }) => word === 'f74'));
    return leg.messages
      .slice(heard)
      .filter((message) => !JSON.stringify(message).includes('"text":" f'));
  }

  test('times lie within the audio that was sent', async () => {
    const [first, second] = await hearing([
      {
        type: 'transcript',
        data: {
          id: 'far',
          is_final: true,
          utterance: utteranceOf({
            start: -1e308,
            end: 1e308,
            words: [{ word: 'strange', start: 1e308, end: -1e308, confidence: 1 }],
          }),
        },
      },
      { type: 'speech_start', data: { time: 1e308, channel: 4_000_000_000 } },
    ]);
    // 80 frames of 20 ms at most, and a second for what recognisers put after the end.
    expect(first?.type === 'transcript' && first.data.utterance.start).toBe(0);
    expect(first?.type === 'transcript' && first.data.utterance.end).toBeLessThanOrEqual(2.6);
    expect(first?.type === 'transcript' && first.data.utterance.words[0]?.end).toBeLessThanOrEqual(
      2.6,
    );
    expect(second?.type === 'speech_start' && second.data.time).toBeLessThanOrEqual(2.6);
    expect(second?.type === 'speech_start' && second.data.channel).toBeLessThan(8);
  });

  test('texts and lists are cut, with a mark; an id that is too long becomes its digest', async () => {
    const long = 'x'.repeat(300_000);
    const word = { word: long, start: 0, end: 0.1, confidence: 1 };
    const words = Array.from({ length: 3_000 }, () => ({ ...word, word: 'x' }));
    const heard = await hearing([
      { type: 'transcript', data: { id: long, is_final: true, utterance: utteranceOf({}) } },
      {
        type: 'transcript',
        data: { id: 'long', is_final: true, utterance: utteranceOf({ text: long, words: [word] }) },
      },
      {
        type: 'transcript',
        data: { id: 'many', is_final: true, utterance: utteranceOf({ words }) },
      },
    ]);
    expect(heard).toHaveLength(3);
    expect(heard[0]?.type === 'transcript' && heard[0].data.id).toMatch(/^[0-9a-f]{64}$/);
    const [, text, list] = heard.map((message) =>
      message.type === 'transcript' ? message.data.utterance : undefined,
    );
    expect(text?.text).toBe(`${'x'.repeat(7_999)}…`);
    expect(text?.words[0]?.word).toBe(`${'x'.repeat(199)}…`);
    expect(list?.words).toHaveLength(2_000);
  });

  test('only the newest identities of a hundred thousand messages of one session are remembered', () => {
    const seen = new SeenMessages();
    const message = (time: number): ServerMessage => ({
      type: 'speech_start',
      session_id: '00000000-0000-0000-0000-000000000000',
      created_at: '2026-01-01T00:00:00.000Z',
      data: { time, channel: 0 },
    });
    for (let time = 0; time < 100_000; time++) seen.isNew(message(time));
    expect(seen.size).toBeLessThanOrEqual(maxIdentities);
    expect(seen.isNew(message(99_999))).toBe(false);
    expect(seen.isNew(message(90_000))).toBe(false);
  });
});
