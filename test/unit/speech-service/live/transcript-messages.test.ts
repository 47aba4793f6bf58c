import { expect, test } from 'vitest';
import { StreamingRequest } from '../../../../src/protocol/live-request.ts';
import type { Addons } from '../../../../src/speech-service/live/words/session-addons.ts';
import { TranscriptMessages } from '../../../../src/speech-service/live/words/transcript-messages.ts';

const utterance = {
  index: 0,
  text: 'my card is lost',
  start: 0,
  end: 1,
  confidence: 1,
  language: 'en',
  words: [],
};

test.each(['rewrite', 'ofUtterance'] as const)(
  'an error that nobody awaits (%s) is told to the session and ends no process',
  async (broken) => {
    const failures: unknown[] = [];
    const addons = {
      needsRewriting: () => true,
      rewrite: (given: unknown) => Promise.resolve(given),
      ofUtterance: () => Promise.resolve(),
      [broken]: () => Promise.reject(new Error('broken')),
    } as unknown as Addons;
    const transcript = new TranscriptMessages({
      sessionId: 's',
      request: StreamingRequest.parse({}),
      addons,
      now: () => 0,
      emit: () => undefined,
      record: () => undefined,
      onFailed: (error) => failures.push(error),
    });
    transcript.heard(0, { type: 'final', utterance, decidedS: 1 });
    await transcript.settled();
    expect(failures).toEqual([new Error('broken')]);
  },
);
