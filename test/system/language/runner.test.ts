import { expect, test } from 'vitest';
import { startLanguageRunner } from '../../../src/language/runner.ts';
import type { Utterance } from '../../../src/protocol/addons.ts';

const oddThread = new URL('../../support/language/odd-language-thread.ts', import.meta.url);
const said = (text: string): { utterance: Utterance } => ({
  utterance: { start: 0, end: 1, confidence: 1, channel: 0, words: [], language: 'en', text },
});

test('a task is done on the thread and answered with the block of the interface', async () => {
  await using runner = startLanguageRunner();
  const block = await runner.run('entities', said('This is Laura Bennett.'), {
    deadlineMs: 30_000,
  });
  expect(block).toMatchObject({ success: true, is_empty: false, error: null });
  expect(block.exec_time).toBeGreaterThanOrEqual(0);
  expect(block.results).toMatchObject([{ entity_type: 'NAME', text: 'Laura Bennett' }]);
});

test('a thread that hangs is terminated and replaced, and takes only its own task with it', async () => {
  const replaced: string[] = [];
  await using runner = startLanguageRunner({
    workerUrl: oddThread,
    onReplaced: (failure) => replaced.push(failure),
  });
  const hanging = runner.run('entities', said('hang'), { deadlineMs: 500 });
  const waiting = runner.run('entities', said('next'), { deadlineMs: 60_000 });
  expect(await hanging).toMatchObject({
    success: false,
    results: null,
    error: { status_code: 504 },
  });
  expect((await waiting).results).toMatchObject([{ text: 'next' }]);
  expect(replaced).toEqual(['deadline']);
});

test('a thread that dies is replaced and its task answered with an error block', async () => {
  await using runner = startLanguageRunner({ workerUrl: oddThread });
  const dying = runner.run('entities', said('die'), { deadlineMs: 60_000 });
  const waiting = runner.run('entities', said('next'), { deadlineMs: 60_000 });
  expect(await dying).toMatchObject({ success: false, error: { exception: 'LanguageThreadLost' } });
  expect((await waiting).success).toBe(true);
});

test('a thread that cannot start is tried three times, then its tasks are answered', async () => {
  await using runner = startLanguageRunner({
    workerUrl: new URL('./there-is-no-such-thread.ts', import.meta.url),
  });
  const block = await runner.run('entities', said('x'), { deadlineMs: 60_000 });
  expect(block).toMatchObject({ success: false, error: { exception: 'LanguageThreadLost' } });
});

test('a session whose vocabulary runs each rewrite to its deadline costs other calls nothing', async () => {
  await using runner = startLanguageRunner();
  await runner.warm();
  // As many terms as a request body of a megabyte holds, each of the length that is compared with the most windows.
  const vocabulary = Array.from(
    { length: 60_000 },
    (_, i) => `pa${i.toString(36).padStart(6, 'e')}`,
  );
  const text = Array.from({ length: 400 }, (_, i) => `patient${i}`).join(' ');
  const realtime = { custom_vocabulary: true, custom_vocabulary_config: { vocabulary } };
  let isOver = false;
  let rewrites = 0;
  const hostile = Array.from({ length: 3 }, async () => {
    while (!isOver) {
      const { utterance } = said(text);
      await runner.run('rewrite', { utterance, realtime }, { deadlineMs: 1_500, owner: 'hostile' });
      rewrites += 1;
    }
  });
  const outcomes = { entities: [] as boolean[], redact: [] as boolean[] };
  const line = 'This is Laura Bennett.';
  // Until both sides have had their share of a busy machine.
  for (let i = 0; i < 60 || rewrites < 3; i++) {
    const owner = `call ${i % 5}`;
    const [found, covered] = await Promise.all([
      runner.run('entities', said(line), { owner }),
      runner.run('redact', { text: line, entityTypes: ['NAME'], form: 'MARKER' }, { owner }),
    ]);
    outcomes.entities.push(found.results?.[0]?.text === 'Laura Bennett');
    outcomes.redact.push(covered.results?.released[0]?.text === 'This is [NAME_1].');
  }
  isOver = true;
  await Promise.all(hostile);
  const failed = (all: boolean[]): string => `${all.filter((ok) => !ok).length} of ${all.length}`;
  console.log(
    `rewrites ${rewrites}, failed: entities ${failed(outcomes.entities)}, redactions ${failed(outcomes.redact)}`,
  );
  expect(outcomes.redact).not.toContain(false);
  expect(outcomes.entities).not.toContain(false);
}, 180_000);

test('a task that hangs after nobody wants it any more does not hold its thread', async () => {
  await using runner = startLanguageRunner({ workerUrl: oddThread });
  const stop = new AbortController();
  await runner.warm();
  const hanging = runner.run('entities', said('hang'), { deadlineMs: 700, signal: stop.signal });
  stop.abort();
  expect(await hanging).toMatchObject({ error: { exception: 'LanguageAborted' } });
  const waiting = runner.run('entities', said('next'), { deadlineMs: 20_000 });
  expect((await waiting).results).toMatchObject([{ text: 'next' }]);
});

test('a full queue answers at once, without a deadline', async () => {
  await using runner = startLanguageRunner({ workerUrl: oddThread, queueLimit: 1 });
  const first = runner.run('entities', said('hang'), { deadlineMs: 2_000 });
  const second = await runner.run('entities', said('too many'), { deadlineMs: 60_000 });
  expect(second).toMatchObject({
    success: false,
    error: { status_code: 503, exception: 'LanguageBusy' },
  });
  expect(await first).toMatchObject({ error: { status_code: 504 } });
});

test('a task that is no longer wanted is answered, one given after the close too', async () => {
  const runner = startLanguageRunner({ workerUrl: oddThread });
  const stop = new AbortController();
  const hanging = runner.run('entities', said('hang'), { deadlineMs: 60_000, signal: stop.signal });
  stop.abort();
  expect(await hanging).toMatchObject({ error: { exception: 'LanguageAborted' } });
  await runner[Symbol.asyncDispose]();
  await runner[Symbol.asyncDispose]();
  expect(await runner.run('entities', said('late'))).toMatchObject({
    error: { exception: 'LanguageClosed' },
  });
});

test('words that could not be rewritten stay as they were', async () => {
  await using runner = startLanguageRunner({ workerUrl: oddThread });
  const { utterance } = said('hang');
  expect(await runner.run('rewrite', { utterance, realtime: {} }, { deadlineMs: 300 })).toEqual(
    utterance,
  );
});

test('a feature that needs a language model names the setting if there is none', async () => {
  await using runner = startLanguageRunner();
  const { utterance } = said('hello');
  const long = { deadlineMs: 30_000 };
  const [translation] = await runner.run(
    'translation',
    { utterance, config: { target_languages: ['fr'] } },
    long,
  );
  const prompts = await runner.run('audioToLlm', { transcript: 'a', prompts: ['b'] }, long);
  const data = await runner.run('structuredData', { transcript: 'a', classes: [] }, long);
  for (const block of [translation, prompts, data]) {
    expect(block).toMatchObject({ success: false, results: null, error: { status_code: 501 } });
    expect(block?.error?.message).toContain('TRUNKLINE_LLM_URL');
  }
});
