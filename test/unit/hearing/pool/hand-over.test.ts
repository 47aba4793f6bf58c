import { expect, test, vi } from 'vitest';
import type { OfStream, ToStream } from '../../../../src/hearing/engine/child-messages.ts';
import { ByLanguage } from '../../../../src/hearing/pool/by-language.ts';
import { handedBack } from '../../../../src/hearing/pool/hand-back.ts';
import { PoolStream } from '../../../../src/hearing/pool/pool-stream.ts';
import type { RecogniserProcess } from '../../../../src/hearing/pool/process.ts';
import type {
  Recogniser,
  RecogniserEvent,
  RecogniserStatus,
} from '../../../../src/hearing/recogniser.ts';
import { silentLog, streamDefaults } from '../../../support/recognition/recogniser.ts';

/** A process that takes everything and says what the test says. */
function silentProcess() {
  const sent: ToStream[] = [];
  const listeners = new Map<number, (message: OfStream) => void>();
  const process = {
    send: (message: ToStream) => void sent.push(message),
    listen: (stream: number, listener: (message: OfStream) => void) =>
      void listeners.set(stream, listener),
    forget: (stream: number) => void listeners.delete(stream),
  } as unknown as RecogniserProcess;
  return {
    process,
    sent,
    listeners,
    audio: () => sent.flatMap((message) => (message.type === 'audio' ? [...message.samples] : [])),
    tell: (stream: number, event: RecogniserEvent) =>
      listeners.get(stream)?.({ type: 'event', event }),
  };
}

const said = (text: string, start: number) => ({
  index: 0,
  text,
  start,
  end: start + 1,
  confidence: 1,
  language: 'en',
  words: [{ word: text, start, end: start + 1, confidence: 1 }],
});

test('a stream whose language is found goes on in another pool, with no second lost or heard twice', () => {
  const events: RecogniserEvent[] = [];
  const [first, second] = [silentProcess(), silentProcess()];
  const onSettled = vi.fn();
  const left = { onDone: vi.fn(), onSettled, newNumber: () => 1 };
  const stream = new PoolStream(
    { ...streamDefaults, sampleRate: 8000, languages: [] },
    (event) => events.push(event),
    left,
  );
  stream.attach(first.process);
  stream.push(Int16Array.from({ length: 24_000 }, (_, i) => i));
  stream.expect('digits');
  const utterance = said('Hello', 0.5);
  first.tell(1, { type: 'final', utterance, decidedS: 2, settledLanguage: 'en' });
  expect(onSettled).toHaveBeenCalledExactlyOnceWith('en');
  const taken = { onDone: vi.fn(), onSettled: vi.fn(), newNumber: () => 7 };
  stream.moveTo(taken);
  expect(first.sent.at(-1)).toEqual({ type: 'close', stream: 1 });
  stream.push(Int16Array.from({ length: 8_000 }, (_, i) => 24_000 + i)); // no process has it yet
  stream.attach(second.process);
  expect(second.sent[0]).toMatchObject({ type: 'open', options: { languages: ['en'] } });
  expect(second.sent).toContainEqual({ type: 'expect', stream: 7, answer: 'digits', from: 8_000 });
  first.tell(1, { type: 'final', utterance: said('late', 9), decidedS: 9 });
  second.tell(7, { type: 'final', utterance: said('there', 0.25), decidedS: 1.5 });
  expect(second.audio()).toEqual(Array.from({ length: 16_000 }, (_, i) => 16_000 + i));
  const finals = events.flatMap((event) => (event.type === 'final' ? [event] : []));
  expect(
    finals.map((one) => [one.utterance.text, one.utterance.index, one.utterance.start]),
  ).toEqual([
    ['Hello', 0, 0.5],
    ['there', 1, 2.25],
  ]);
  expect(finals.map(({ decidedS }) => decidedS)).toEqual([2, 3.5]);
  expect(finals.every((event) => !('settledLanguage' in event))).toBe(true);
  second.tell(7, { type: 'finished' });
  expect([left.onDone.mock.calls, taken.onDone.mock.calls]).toEqual([[], [[]]]);
});

test('a process that replaces a dead one need not find the language again', () => {
  const [first, second] = [silentProcess(), silentProcess()];
  let number = 0;
  const hooks = { onDone: vi.fn(), onSettled: vi.fn(), newNumber: () => ++number };
  const stream = new PoolStream({ ...streamDefaults, languages: ['es', 'en'] }, vi.fn(), hooks);
  stream.attach(first.process);
  first.tell(1, { type: 'final', utterance: said('Hola', 0), decidedS: 0, settledLanguage: 'es' });
  first.tell(1, { type: 'final', utterance: said('Hola', 0), decidedS: 0, settledLanguage: 'es' });
  stream.detach();
  stream.attach(second.process);
  expect(second.sent[0]).toMatchObject({ type: 'open', options: { languages: ['es'] } });
  expect(hooks.onSettled).toHaveBeenCalledOnce();
});

/** A recogniser that admits everything and remembers what it was asked for. */
function open(about: Partial<RecogniserStatus>) {
  const opened: string[][] = [];
  const status = {
    state: 'ready', detail: '', model: 'm', languages: ['en'], estimatedTimes: false, streams: 0, capacity: 20, ...about,
  } satisfies RecogniserStatus; // prettier-ignore
  const recogniser: Recogniser = {
    mostProcesses: 2,
    status: () => status,
    admits: () => ({ outcome: 'admitted' }),
    open: ({ languages }) => {
      opened.push(languages);
      return { outcome: 'at-capacity', detail: '', retryAfterS: 1 };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return { recogniser, opened };
}

test('the languages of a request decide which model reads it', () => {
  const wanted = [['en'], ['es'], ['es', 'en'], [], ['xx']];
  const read = (isInstalled: boolean, covered = ['en']) => {
    const [first, others] = [open({ languages: covered }), open({ languages: ['en', 'es', 'fr'] })];
    const both = new ByLanguage({
      first: first.recogniser,
      others: others.recogniser,
      isInstalled: () => isInstalled,
    });
    for (const languages of wanted) both.open({ ...streamDefaults, languages }, vi.fn());
    return others.opened;
  };
  expect(read(true)).toEqual([['es'], ['es', 'en'], []]);
  expect(read(false), 'as without the model').toEqual([]);
  expect(read(true, ['en', 'es']), 'a first model for all of them detects by itself').toEqual([]);
});

test('legs of both models share the machine, and each is told in the status', () => {
  const first = open({ streams: 12 });
  const others = open({ languages: ['es'], streams: 3, capacity: 8 });
  const parts = { first: first.recogniser, others: others.recogniser, isInstalled: () => true };
  const both = new ByLanguage(parts);
  expect(both.status()).toMatchObject({ languages: ['en', 'es'], streams: 15, capacity: 20 });
  expect(both.admits({ languages: ['en'] }, 0).outcome).toBe('admitted');
  expect(both.admits({ languages: ['es'] }, 1)).toMatchObject({
    outcome: 'at-capacity',
    detail: expect.stringContaining('15 channels are in use'),
  });
  expect(both.admits({ languages: ['en'] }, 1).outcome).toBe('at-capacity');
});

/** A stream whose language was found and whose pool can give it back. */
function foundStream(onDoubt: () => boolean) {
  const events: RecogniserEvent[] = [];
  const pool = silentProcess();
  let number = 0;
  const hooks = { onDone: vi.fn(), onSettled: vi.fn(), onDoubt, newNumber: () => ++number };
  const stream = new PoolStream(
    { ...streamDefaults, sampleRate: 8000, languages: [] },
    (event) => events.push(event),
    hooks,
  );
  const says = (text: string, about: { confidence?: number; seconds?: number } = {}) => {
    const { confidence = 0.9, seconds = 3 } = about;
    const utterance = { ...said(text, 0), confidence, end: seconds };
    pool.tell(number, { type: 'final', utterance, decidedS: 0 });
  };
  stream.attach(pool.process);
  stream.push(Int16Array.from({ length: 8_000 }, (_, i) => i));
  pool.tell(1, {
    type: 'final',
    utterance: said('Hello', 0),
    decidedS: 0.5,
    settledLanguage: 'en',
  });
  const finals = () => events.flatMap((one) => (one.type === 'final' ? [one.utterance.text] : []));
  return { stream, pool, hooks, says, finals };
}

test('an unsure final in the found language is not told: other processes hear its audio again', () => {
  const second = silentProcess();
  const onDoubt = vi.fn(() => {
    stream.moveTo({ onDone: vi.fn(), onSettled: vi.fn(), newNumber: () => 9 });
    return true;
  });
  const { stream, says, finals } = foundStream(onDoubt);
  says('sure enough');
  says('too short to tell', { confidence: 0.1, seconds: 1 });
  expect(onDoubt).not.toHaveBeenCalled();
  says('Los entopero', { confidence: 0.2 });
  expect(onDoubt).toHaveBeenCalledOnce();
  expect(finals()).toEqual(['Hello', 'sure enough', 'too short to tell']);
  stream.attach(second.process);
  expect(second.sent[0]).toMatchObject({ type: 'open', options: { languages: [] } });
  expect(second.audio()[0], 'from the last decided second on').toBe(4_000);
  second.tell(9, {
    type: 'final',
    utterance: said('Lo siento', 0),
    decidedS: 0.5,
    settledLanguage: 'es',
  });
  expect(finals().at(-1)).toBe('Lo siento');
  expect(stream.options.languages).toEqual(['es']);
});

test('nobody takes a doubted stream: its final is told as it is, and its language stays', () => {
  const { stream, says, finals } = foundStream(() => false);
  says('Los entopero', { confidence: 0.2 });
  expect(finals()).toEqual(['Hello', 'Los entopero']);
  expect(stream.options.languages).toEqual(['en']);
});

test('each doubt that finds the same language again makes the next one rarer', () => {
  const doubted: number[] = [];
  let at = 0;
  const onDoubt = vi.fn(() => {
    doubted.push(at);
    stream.moveTo({ ...hooks });
    stream.attach(pool.process);
    return true;
  });
  const { stream, pool, hooks, says } = foundStream(onDoubt);
  for (at = 0; at < 40; at++) {
    says('mumbled', { confidence: 0.1 });
    if (doubted.at(-1) !== at) continue;
    const number = hooks.newNumber() - 1;
    pool.tell(number, {
      type: 'final',
      utterance: said('mumbled', 0),
      decidedS: 0,
      settledLanguage: 'en',
    });
    stream.moveTo({ ...hooks });
    stream.attach(pool.process);
  }
  expect(doubted).toEqual([0, 2, 5, 10, 19, 36]);
});

test('a stream that waits for processes which never come goes back to its pool', async () => {
  const { stream } = foundStream(() => false);
  const pool = { takeBack: vi.fn() };
  const about = { pool, log: silentLog };
  expect(handedBack(stream, { ...about, others: { begun: () => undefined } })).toBe(false);
  const failed = { begun: () => Promise.reject(new Error('no memory')) };
  expect(handedBack(stream, { ...about, others: failed })).toBe(true);
  await vi.waitFor(() => expect(pool.takeBack).toHaveBeenCalledOnce());
  const full = { begun: () => Promise.resolve({ adopt: () => false }) };
  handedBack(stream, { ...about, others: full });
  await vi.waitFor(() => expect(pool.takeBack).toHaveBeenCalledTimes(2));
  const adopt = vi.fn(() => true);
  handedBack(stream, { ...about, others: { begun: () => Promise.resolve({ adopt }) } });
  stream.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(adopt, 'a stream that was closed meanwhile').not.toHaveBeenCalled();
});
