import { expect, test } from 'vitest';
import { startApp } from '../../support/process/app.ts';
import { trunkline } from '../../support/process/command.ts';
import { until } from '../../support/process/until.ts';

test('calls of a number are shown first, erased when told, and one that goes on is said to stay', async () => {
  await using app = await startApp();
  const run = async (...args: string[]): Promise<{ code: number | null; text: string }> => {
    const { ended, lines } = trunkline(['erase', '--url', app.url, ...args]);
    return { code: await ended, text: lines.join('\n') };
  };
  const calls = async (): Promise<{ from: string | null; state: string }[]> => {
    const page = (await (await app.get('/api/calls')).json()) as { items: { from: string | null; state: string }[] }; // prettier-ignore
    return page.items;
  };
  const numbers = async (): Promise<(string | null)[]> => (await calls()).map(({ from }) => from);
  const call = (number: string, ...how: string[]): ReturnType<typeof trunkline> =>
    trunkline(['call', '--url', app.url, '--from', number, '--no-watch', ...how]);
  const over = [
    call('+15550100001', '--speed', '60', '--calls', '2'),
    call('+15550100002', '--speed', '60'),
  ];
  const going = call('+15550100001', '--speed', '0.5');
  for (const { ended } of over) expect(await ended).toBe(0);
  await until(async () => {
    const states = (await calls()).map(({ state }) => state).toSorted();
    return states.join() === 'ended,ended,ended,live';
  });

  const [one] = ((await (await app.get('/api/calls?number=%2B15550100002')).json()) as { items: { id: string }[] }).items; // prettier-ignore
  const links = await run(one?.id ?? '', '--links-only', '--yes');
  expect(links.text).toContain('the links of 1 call open nothing any more');
  expect(await numbers()).toHaveLength(4);

  const shown = await run('--number', '(555) 010-0001');
  expect(shown.text.match(/^call_/gm)).toHaveLength(3);
  expect(shown.text).toContain('3 calls would be erased, and nothing brings one back: say --yes');
  expect(await numbers()).toHaveLength(4);
  const erased = await run('--number', '(555) 010-0001', '--yes');
  expect(erased.text).toContain('2 calls erased');
  expect(erased.text).toContain(
    'a CRM keeps its record and tasks, unless its endpoint has on_erase: delete',
  );
  expect(erased.text).toMatch(/^call_\S+: .*409: the phone call is still going on/m);
  expect(erased.code).toBe(1);
  expect((await numbers()).toSorted()).toEqual(['+15550100001', '+15550100002']);
  expect((await run('--number', '+15550109999')).text).toBe('no call has this number');
  expect((await run('call_none', '--yes')).text).toContain('404');
  expect((await run('', '--yes')).text).toContain('"" is no id of a call');
  const short = await run('--number', '1', '--yes');
  expect(short.text).toMatch(/^BAD_INPUT: .*400: Validation failed: .*number/m);
  expect((await run()).text).toContain('name calls, or say --number');
  going.child.kill();
}, 120_000);
