import { startBrowser } from '../support/browser/browser.ts';
import { startRecordedApi } from '../support/browser/recorded-api.ts';
import { recordedBoard } from '../support/browser/recorded-board.ts';
import { recordedInstallation } from '../support/browser/recorded-call.ts';

const calls = 500;
const tellMs = 250;
const framesMeasured = 240;

/**
 * The board with 500 live calls in a real browser, headless and without GPU. Every card changes four times a second.
 * Frames are the times between two pictures; the work is the time that the page's own script needs of each.
 */
export async function run(): Promise<void> {
  const board = recordedBoard(calls);
  const base = { events: {}, deliveries: [], installation: recordedInstallation };
  await using api = await startRecordedApi({ ...base, calls: [], board });
  await using browser = await startBrowser();
  const openedAt = performance.now();
  const { page } = await browser.open(`${api.url}/#/board`, { width: 1_440 });
  await page.getByText(`${calls} calls`, { exact: true }).waitFor();
  console.log(`${calls} calls on the board after ${(performance.now() - openedAt).toFixed(0)} ms`);
  const scripts = {
    'still, nothing told': '0',
    still: '0',
    scrolling: '(step < 120 ? 300 : -300)',
  };
  let round = 0;
  for (const [name, by] of Object.entries(scripts)) {
    const telling = name.includes('nothing') ? undefined : setInterval(() => { round++; api.tellBoard(board.map((card, at) => changedCard(card, at + round))); }, tellMs); // prettier-ignore
    const times = await page.evaluate<number[]>(`(async () => {
      const times = [];
      let last = performance.now();
      for (let step = 0; step < ${framesMeasured}; step++) {
        scrollBy(0, ${by});
        await new Promise((next) => requestAnimationFrame(next));
        times.push(performance.now() - last);
        last = performance.now();
      }
      return times;
    })()`);
    clearInterval(telling);
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(0); // prettier-ignore
    const late = times.filter((ms) => ms > 50).length;
    console.log(`frames, ${name}: median ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms; ${late} of ${times.length} above 50 ms`); // prettier-ignore
  }
}

function changedCard(card: ReturnType<typeof recordedBoard>[number], turn: number) {
  return {
    ...card,
    spoke_at: new Date().toISOString(),
    talk: { customer: turn % 90, agent: (turn * 7) % 90 },
    mood: { now: ((turn % 5) - 2) / 2, trend: 'steady' as const, points: [turn % 2 === 0 ? 1 : -1, 0, 1] }, // prettier-ignore
    said: {
      role: 'customer' as const,
      text: `This is sentence ${turn} of a call that goes on and on.`,
    },
  };
}
