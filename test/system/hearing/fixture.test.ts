import { describe, expect, test } from 'vitest';
import { fixtureModel, tones } from '../../support/recognition/fixture-model.ts';
import { hear, pushAll, recogniserOf } from '../../support/recognition/recogniser.ts';
import { until } from '../../support/process/until.ts';

describe('a recogniser with the fixture model', () => {
  test('tones come back as their words, with times, once for each utterance', async () => {
    await using recogniser = await recogniserOf(await fixtureModel());
    const hearing = hear(recogniser);
    pushAll(hearing.stream, tones('my card is lost'));
    pushAll(hearing.stream, tones('hello hello goodbye'));
    await hearing.end();
    expect(hearing.finals.map(({ index, text }) => [index, text])).toEqual([
      [0, 'my card is lost'],
      [1, 'hello hello goodbye'],
    ]);
    const [first] = hearing.finals[0]!.words;
    expect(first!.start).toBeCloseTo(0.2, 1);
    expect(hearing.finals[1]!.start).toBeCloseTo(2.04 + 0.2, 1);
    expect(hearing.events.filter(({ type }) => type === 'speech-start')).toHaveLength(2);
    expect(hearing.stream.backlogS).toBe(0);
  });

  test('the text does not depend on how the audio was chunked', async () => {
    await using recogniser = await recogniserOf(await fixtureModel());
    const audio = tones('one two three four five please my refund paris monday');
    const said = await Promise.all(
      [1, 77, 160, 800, 100_000].map(async (chunk) => {
        const hearing = hear(recogniser);
        pushAll(hearing.stream, audio, chunk);
        await hearing.end();
        return hearing.finals;
      }),
    );
    for (const finals of said) expect(finals).toEqual(said[0]);
  });

  test('silence says nothing and progress goes on', async () => {
    await using recogniser = await recogniserOf(await fixtureModel());
    const hearing = hear(recogniser);
    pushAll(hearing.stream, new Int16Array(8000 * 30));
    await hearing.end();
    expect(hearing.finals).toEqual([]);
    expect(hearing.events.filter(({ type }) => type === 'progress').length).toBeGreaterThan(20);
  });

  test('a process killed in the middle of an utterance is replaced and the text is the same', async () => {
    await using recogniser = await recogniserOf(await fixtureModel());
    const hearing = hear(recogniser);
    const audio = tones('the order is lost please');
    pushAll(hearing.stream, tones('hello'));
    pushAll(hearing.stream, audio.subarray(0, 8000));
    await hearing.until(
      (event) => event.type === 'partial' && event.utterance.text.includes('order'),
    );
    const [running] = recogniser.processes();
    process.kill(running!.pid!, 'SIGKILL');
    pushAll(hearing.stream, audio.subarray(8000));
    await hearing.end();
    expect(hearing.finals.map(({ index, text }) => [index, text])).toEqual([
      [0, 'hello'],
      [1, 'the order is lost please'],
    ]);
    expect(hearing.events.filter(({ type }) => type === 'speech-start')).toHaveLength(2);
    expect(recogniser.processes()[0]!.pid).not.toBe(running!.pid);
  });

  test('audio sent together to many streams of a process reaches each, also when the process is killed', async () => {
    await using recogniser = await recogniserOf(await fixtureModel());
    const said = ['hello', 'my refund please', 'the order is lost', 'thanks', 'one two three', 'paris', 'four five', 'monday']; // prettier-ignore
    const hearings = said.map(() => hear(recogniser));
    const audios = said.map((text) => tones(text));
    const longest = Math.max(...audios.map(({ length }) => length));
    for (let at = 0; at < longest; at += 160) {
      for (const [index, { stream }] of hearings.entries())
        stream.push(audios[index]!.subarray(at, at + 160));
      if (at === 8000) process.kill(recogniser.processes()[0]!.pid!, 'SIGKILL');
      if (at % 1600 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await Promise.all(hearings.map((hearing) => hearing.end()));
    expect(hearings.map((hearing) => hearing.text())).toEqual(said);
  });

  test('a process that hangs is replaced after its deadline and the text is the same', async () => {
    await using recogniser = await recogniserOf(await fixtureModel(), { hangDeadlineMs: 2000 });
    const hearing = hear(recogniser);
    pushAll(hearing.stream, tones('hello'));
    await hearing.until((event) => event.type === 'final');
    process.kill(recogniser.processes()[0]!.pid!, 'SIGSTOP');
    pushAll(hearing.stream, tones('my refund please'));
    await hearing.end();
    expect(hearing.text()).toBe('hello my refund please');
  });

  test('parts of a recording wait for the process that is about to be ready, and each has as many', async () => {
    await using recogniser = await recogniserOf(await fixtureModel(), { processes: 2 }, true);
    const said = ['hello', 'my refund please', 'the order is lost', 'thanks'];
    const hearings = said.map((text) => {
      const hearing = hear(recogniser, { recorded: true });
      pushAll(hearing.stream, tones(text));
      return hearing;
    });
    // Processes of recordings have the lowest priority: beside other work they start late.
    const streams = () => recogniser.processes().map((process) => process.streams);
    await until(() => streams().reduce((sum, count) => sum + count, 0) === 4, 90_000);
    expect(streams()).toEqual([2, 2]);
    await Promise.all(hearings.map((hearing) => hearing.end()));
    expect(hearings.map((hearing) => hearing.text())).toEqual(said);
  });

  test('audio that ends every process fails its own stream only', async () => {
    await using recogniser = await recogniserOf(await fixtureModel());
    const bystander = hear(recogniser);
    const bad = hear(recogniser);
    const failed = bad.until(() => false);
    void failed.catch(() => undefined);
    // Killed before it can look at anything: to the pool the same audio ends each replacement.
    const killed = new Set<number>();
    while (!bad.events.some(({ type }) => type === 'failed')) {
      bad.stream.push(new Int16Array(80));
      const [running] = recogniser.processes();
      if (running?.pid !== undefined && running.streams > 0 && !killed.has(running.pid)) {
        killed.add(running.pid);
        process.kill(running.pid, 'SIGSTOP');
        bad.stream.push(new Int16Array(800));
        process.kill(running.pid, 'SIGKILL');
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await expect(failed).rejects.toThrow('repeatedly');
    expect(killed.size).toBeGreaterThanOrEqual(3);
    pushAll(bystander.stream, tones('thanks'));
    await bystander.end();
    expect(bystander.text()).toBe('thanks');
  });

  test('the number of streams is learned anew from their cost', async () => {
    await using recogniser = await recogniserOf(await fixtureModel());
    const hearing = hear(recogniser);
    await until(() => recogniser.status().state === 'ready');
    const atStart = recogniser.status().capacity;
    // Twenty seconds of audio say enough.
    await until(() => {
      pushAll(hearing.stream, new Int16Array(8000));
      return recogniser.status().capacity !== atStart;
    });
    expect(recogniser.status().capacity).toBeGreaterThan(0);
  });

  test('a language that no installed model covers is refused by name', async () => {
    await using recogniser = await recogniserOf(await fixtureModel());
    expect(recogniser.admits({ languages: ['fr'] }, 1)).toMatchObject({
      outcome: 'language',
      detail:
        'no installed model covers fr; installed: en; install one that does: npx trunkline models pull whisper-base',
    });
    expect(recogniser.admits({ languages: ['fr', 'en'] }, 1).outcome).toBe('admitted');
  });
});
