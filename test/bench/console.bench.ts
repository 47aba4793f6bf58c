import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { startBrowser } from '../support/browser/browser.ts';
import { startRecordedApi } from '../support/browser/recorded-api.ts';
import { manyCalls, recordedInstallation } from '../support/browser/recorded-call.ts';

/**
 * The page: its weight, how soon it paints, and what a thousand live calls cost it.
 *
 * Weight is every file a browser fetches for the first view, as sent and compressed. Paint is Chromium's own
 * first contentful paint over loopback, median of five loads. Frames are the times between two pictures while
 * the list scrolls for 120 steps, still and with 2,000 levels sent four times a second; headless, without GPU.
 */
export async function run(): Promise<void> {
  weigh();
  await using browser = await startBrowser();
  const base = { events: {}, deliveries: [], installation: recordedInstallation };
  await using few = await startRecordedApi({ ...base, calls: manyCalls(3) });
  const paints: number[] = [];
  for (let load = 0; load < 5; load++) {
    const { page } = await browser.open(few.url);
    await page.locator('.calls li').first().waitFor();
    paints.push(
      await page.evaluate<number>(
        `performance.getEntriesByName('first-contentful-paint')[0].startTime`,
      ),
    );
    await page.context().close();
  }
  console.log(`first contentful paint: ${median(paints).toFixed(0)} ms`);
  const calls = manyCalls(1_000);
  await using many = await startRecordedApi({ ...base, calls });
  const openedAt = performance.now();
  const { page } = await browser.open(many.url);
  await page.locator('.count', { hasText: '1000' }).waitFor();
  console.log(`1000 live calls in the list after ${(performance.now() - openedAt).toFixed(0)} ms`);
  console.log(`frames, still:  ${await frames(page)}`);
  const levels = calls.flatMap((call) =>
    call.legs.map((leg) => ({ call_id: call.id, leg_id: leg.id, level: Math.random() })),
  );
  const moving = setInterval(() => many.tell({ type: 'levels', levels }), 250);
  console.log(`frames, moving: ${await frames(page)}`);
  clearInterval(moving);
}

function weigh(): void {
  const folder = new URL('../../src/console/page/', import.meta.url);
  const files = readdirSync(folder).map((name) => readFileSync(new URL(name, folder)));
  const sum = (sizes: number[]): string => (sizes.reduce((a, b) => a + b, 0) / 1_000).toFixed(1);
  const plain = sum(files.map((file) => file.length));
  const packed = sum(files.map((file) => gzipSync(file).length));
  console.log(`page: ${files.length} files, ${plain} kB, ${packed} kB compressed`);
}

async function frames(page: { evaluate<T>(script: string): Promise<T> }): Promise<string> {
  const times = await page.evaluate<number[]>(`(async () => {
    const times = [];
    let last = performance.now();
    for (let step = 0; step < 120; step++) {
      scrollBy(0, step < 60 ? 1200 : -1200);
      await new Promise((next) => requestAnimationFrame(next));
      times.push(performance.now() - last);
      last = performance.now();
    }
    return times;
  })()`);
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(0);
  return `median ${at(0.5)} ms, p95 ${at(0.95)} ms, longest ${at(1)} ms`;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
