import { expect, test } from 'vitest';
import { AudioTrack } from '../../../../src/hearing/offline/audio-track.ts';
import { ranks, type LoadLevel } from '../../../../src/hearing/engine/engine.ts';
import { LanguageChoice } from '../../../../src/hearing/engine/language-choice.ts';
import { OfflineSession } from '../../../../src/hearing/offline/offline-engine.ts';
import { PieceReader } from '../../../../src/hearing/offline/piece-reader.ts';
import { ReadingPrice } from '../../../../src/hearing/engine/load.ts';
import { VoicedStretches } from '../../../../src/hearing/offline/wordless.ts';
import type { RecogniserEvent } from '../../../../src/hearing/recogniser.ts';

const window = 512;

/** A session whose audio is # for voice and . for quiet, one window each, and whose model always hears the same. */
function sessionOf(
  load: LoadLevel = { needed: 0, latenessMs: 0, togetherMs: 0 },
  partials = false,
  { texts = [], numberPauseS }: { texts?: string[]; numberPauseS?: number } = {},
) {
  const track = new AudioTrack();
  const events: RecogniserEvent[] = [];
  let said = 0;
  const state = { readings: 0, drafts: [] as number[] };
  const reader = new PieceReader(
    {
      longestS: 8.8,
      estimatedTimes: true,
      goesOn: false,
      price: new ReadingPrice(),
      read: (_samples, _language, { draft = [] } = {}) => {
        state.drafts.push(draft.length);
        state.readings++;
        const none = { tokens: [], timestamps: [], durations: [], ys_log_probs: [] };
        return {
          text: texts[said++ % texts.length] ?? 'Good morning.',
          lang: '',
          ids: [[4], [5, 6]],
          ...none,
        };
      },
    },
    track,
  );
  let pushed: Float32Array = new Float32Array(0);
  const voice = {
    push: (block: Float32Array) => void (pushed = block),
    take: (onWindow: (voiced: boolean, end: number) => void) =>
      onWindow((pushed[0] ?? 0) > 0.1, track.end),
  };
  const options = {
    sampleRate: 16000,
    languages: ['en'],
    codeSwitching: false,
    endpointingS: 0.5,
    maximumDurationS: 30,
    speechThreshold: 0.6,
    audioEnhancer: false,
    recorded: false,
    partials,
    numberPauseS,
  };
  const language = new LanguageChoice(['en'], options, () => '');
  const session = new OfflineSession(
    {
      reader,
      longestS: 8.8,
      track,
      voiced: new VoicedStretches(),
      voice,
      language,
      load: () => load,
    },
    options,
    (event) => events.push(event),
  );
  const hear = (line: string, live = true, atMs = performance.now()) => {
    for (const sign of line) {
      const voiced = new Float32Array(window).map((_, i) => 0.3 * Math.cos(i * i));
      session.push(sign === '#' ? voiced : new Float32Array(window));
      session.listen({ atMs, live });
    }
  };
  const work = () => {
    while (session.urgency(performance.now())) session.step(performance.now());
  };
  return { session, events, state, hear, work, types: () => events.map(({ type }) => type) };
}

const speech = '#'.repeat(30);
const pause = '.'.repeat(16);

test('speech that a pause may end is read in the pause, and told when it ends', () => {
  const { session, state, hear, work, types } = sessionOf();
  hear(speech);
  expect(session.urgency(performance.now())).toBeUndefined();
  hear('....');
  expect(session.urgency(performance.now())?.rank).toBe(ranks.ahead);
  work();
  expect(state.readings).toBe(3);
  expect(types()).toEqual(['speech-start']);
  hear(pause);
  expect(types()).toEqual(['speech-start', 'speech-end', 'final', 'progress']);
  expect(state.readings).toBe(3);
});

test('when speech goes on, what was read of it is read again as a whole', () => {
  const { state, events, hear, work } = sessionOf();
  hear(`${speech}.....`);
  work();
  hear(`${speech}${pause}`);
  expect(events.some(({ type }) => type === 'final')).toBe(false);
  work();
  expect(events.filter(({ type }) => type === 'final')).toHaveLength(1);
  expect(state.readings).toBeGreaterThan(3);
});

test('a reading made in vain in a pause makes the next reading of the piece cheaper', () => {
  const { state, hear, work } = sessionOf();
  hear(`${speech}.....`);
  work();
  expect(state.drafts[0]).toBe(0);
  state.drafts = [];
  hear(`${speech}.....`);
  work();
  expect(state.drafts[0]).toBe(3);
  state.drafts = [];
  hear(`${pause}${speech}.....`);
  work();
  expect(state.drafts[0]).toBe(0); // another piece
});

test('the first reading of a final is needed, also in the pause before it is decided', () => {
  const ahead = sessionOf();
  ahead.hear(`${speech}....`);
  expect(ahead.session.urgency(performance.now())?.needed).toBe(true);
  ahead.session.step(performance.now());
  expect(ahead.session.urgency(performance.now())?.needed).toBe(false);
  const late = sessionOf();
  late.hear(`${speech}${pause}`);
  expect(late.session.urgency(performance.now())?.needed).toBe(true);
  const bulk = sessionOf();
  bulk.hear(`${speech}${pause}`, false);
  expect(bulk.session.urgency(performance.now())?.needed).toBe(false);
  const shown = sessionOf(undefined, true);
  shown.hear(speech);
  expect(shown.session.urgency(performance.now())).toMatchObject({
    rank: ranks.glimpse,
    needed: false,
  });
});

test('under load fewer readings are made for partials, and later ones in a pause', () => {
  const quiet = { needed: 0, latenessMs: 0, togetherMs: 0 };
  const busy = { ...quiet, needed: 0.3 };
  const due = (load: LoadLevel, line: string, partials: boolean) => {
    const { session, hear } = sessionOf(load, partials);
    hear(line);
    return session.urgency(performance.now())?.rank;
  };
  const half = '#'.repeat(17); // 0.54 s
  expect(due(quiet, half, true)).toBe(ranks.glimpse);
  expect(due(busy, half, true)).toBeUndefined();
  expect(due(busy, `${half}####`, true)).toBe(ranks.glimpse);
  expect(due(quiet, `${speech}....`, false)).toBe(ranks.ahead);
  expect(due(busy, `${speech}....`, false)).toBeUndefined();
  expect(due(busy, `${speech}........`, false)).toBe(ranks.ahead);
});

test('a final is the most urgent of all, each further reading of it is not', () => {
  const { session, hear } = sessionOf();
  hear(`${speech}${pause}`);
  expect(session.urgency(performance.now())?.rank).toBe(ranks.first);
  session.step(performance.now());
  expect(session.urgency(performance.now())?.rank).toBe(ranks.more);
});

test('a request that waits for a final gets the words so far when time is up', () => {
  const { session, state, hear, types } = sessionOf();
  hear(`${speech}${pause}`, true, performance.now() - 1_000);
  session.step(performance.now());
  expect(state.readings).toBe(1);
  expect(types()).toContain('final');
});

test('a recording is read when nobody needs the time, and then as well as it can be', () => {
  const { session, state, hear, work } = sessionOf({ needed: 0.9, latenessMs: 900, togetherMs: 0 });
  hear(`${speech}${pause}`, false);
  expect(session.urgency(performance.now())?.rank).toBe(ranks.bulk);
  work();
  expect(state.readings).toBeGreaterThanOrEqual(3);
});

test('under load a final is one reading, nothing is read ahead and nothing in between', () => {
  const { session, state, hear, work } = sessionOf(
    { needed: 0.9, latenessMs: 0, togetherMs: 0 },
    true,
  );
  hear(`${speech}.........`);
  expect(session.urgency(performance.now())).toBeUndefined();
  hear(pause);
  work();
  expect(state.readings).toBe(1);
});

test('five callers whose words may end together get one reading each, and no partial holds them up', () => {
  const { session, state, hear, work, types } = sessionOf(
    { needed: 0.1, latenessMs: 0, togetherMs: 2_500 },
    true,
  );
  hear(speech.repeat(3));
  expect(session.firstReadingMs).toBeGreaterThan(0);
  expect(session.urgency(performance.now())).toBeUndefined();
  hear('.........');
  work();
  expect(state.readings).toBe(1);
  expect(session.firstReadingMs).toBe(0);
  hear(pause);
  expect(types()).toContain('final');
  expect(state.readings).toBe(1);
});

test('events behind an unread final wait for it: they stay in order, and audio does not pile up', () => {
  const { session, hear, work, types } = sessionOf();
  hear(`${speech}${pause}${speech}${pause}`);
  expect(types()).toEqual(['speech-start', 'speech-end']);
  expect(session.settled).toBe(false);
  expect(session.full).toBe(false);
  hear(pause.repeat(4));
  expect(session.full).toBe(true);
  session.finish({ atMs: performance.now(), live: true });
  work();
  const one = ['speech-start', 'speech-end', 'final', 'progress'];
  expect(types()).toEqual([...one, ...one, 'progress', 'finished']);
});

const silence = (seconds: number) => '.'.repeat(Math.ceil((seconds * 16_000) / window));
/** Three readings of a piece agree, and then nothing more is read. */
const thrice = (texts: string[]) => texts.flatMap((text) => [text, text, text]);

function finalsOf(events: readonly RecogniserEvent[]) {
  return events.flatMap((event) => (event.type === 'final' ? [event.utterance.text] : []));
}

test('an unfinished number waits for the rest, and is one utterance with it', () => {
  const texts = thrice(['Four, four, one.', 'Nine, two.']);
  const { events, hear, work, types } = sessionOf(undefined, false, { texts, numberPauseS: 1.5 });
  hear(`${speech}${silence(1.2)}`);
  work();
  expect(types()).toEqual(['speech-start', 'speech-end']);
  hear(speech);
  hear(silence(1.2));
  work();
  expect(finalsOf(events)).toEqual([]);
  hear(silence(1));
  expect(finalsOf(events)).toEqual(['Four, four, one Nine, two.']);
  expect(types().filter((type) => type === 'speech-start')).toHaveLength(2);
});

test('other words behind a number that waited begin a sentence of their own', () => {
  const texts = thrice(['The password is 4242.', 'That user is gone.']);
  const { session, events, hear, work } = sessionOf(undefined, false, { texts, numberPauseS: 1.5 });
  hear(`${speech}${silence(1.2)}`);
  work();
  hear(`${speech}${silence(1.2)}`);
  session.finish({ atMs: performance.now(), live: true });
  work();
  expect(finalsOf(events)).toEqual(['The password is 4242. That user is gone.']);
});

test('a number after which nothing comes is told when its wait is over, with its own end and mark', () => {
  const texts = thrice(['Four, four, one.']);
  const { events, hear, work } = sessionOf(undefined, false, { texts, numberPauseS: 1.5 });
  hear(`${speech}${silence(1.9)}`);
  work();
  expect(finalsOf(events)).toEqual([]);
  hear(silence(0.2));
  expect(finalsOf(events)).toEqual(['Four, four, one.']);
  const final = events.find((event) => event.type === 'final');
  expect(final?.decidedS).toBeLessThan(1.1);
});

test('speech that comes after the wait is an utterance of its own', () => {
  const texts = thrice(['Four, four, one.', 'Nine, two.']);
  const { session, events, hear, work } = sessionOf(undefined, false, { texts, numberPauseS: 1.5 });
  hear(`${speech}${silence(2.2)}`, false);
  hear(`${speech}${silence(1)}`, false);
  session.finish({ atMs: performance.now(), live: false });
  work();
  expect(finalsOf(events)).toEqual(['Four, four, one.', 'Nine, two.']);
});

test('words that are over, and a stream without the wish, are told as early as ever', () => {
  for (const [text, numberPauseS] of [
    ['Good morning.', 1.5],
    ['Four, four, one.', undefined],
    ['Four, four, one.', 0],
  ] as const) {
    const { events, hear, work } = sessionOf(undefined, false, {
      texts: [text],
      ...(numberPauseS === undefined ? {} : { numberPauseS }),
    });
    hear(`${speech}${silence(0.52)}`);
    work();
    expect(finalsOf(events)).toEqual([text]);
  }
});

test('an unfinished number at the end of the stream is told at once, and nothing before it is forgotten meanwhile', () => {
  const texts = thrice(['Four, four, one.']);
  const { session, events, hear, work } = sessionOf(undefined, false, { texts, numberPauseS: 1.5 });
  hear(`${speech}${silence(1.5)}`);
  work();
  expect(events.some(({ type }) => type === 'progress')).toBe(false);
  session.finish({ atMs: performance.now(), live: true });
  work();
  expect(finalsOf(events)).toEqual(['Four, four, one.']);
  expect(events.at(-1)?.type).toBe('finished');
});

test('an utterance that waits again and again ends at its longest duration', () => {
  const texts = thrice(['Four, four, one.']);
  const { events, hear, work } = sessionOf(undefined, false, { texts, numberPauseS: 1.5 });
  for (let at = 0; at < 24; at++) {
    hear(`${speech}${silence(0.8)}`);
    work();
  }
  expect(finalsOf(events).length).toBeGreaterThan(0);
});
