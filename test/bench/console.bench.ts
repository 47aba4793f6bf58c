import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { startBrowser, type Browser } from '../support/browser/browser.ts';
import { startRecordedApi } from '../support/browser/recorded-api.ts';
import { manyCalls, recordedInstallation } from '../support/browser/recorded-call.ts';
import { startApp } from '../support/process/app.ts';
import { apiOf, openScene, scenes } from './console/scenes.ts';

/**
 * The page: its weight, each of its views in each look, and what a thousand live calls cost it.
 *
 * Weight is every file a browser fetches for the first view, as sent and compressed. A view in a state is opened in a
 * window of its own at 1280 pixels, at 390, dark, and at 640 (1280 at 200 %): the violations that axe finds, pixels
 * that stand out at the right, Chromium's own first contentful paint over loopback, and when its own words stood there.
 * Each picture lies in `test/screenshots`. Frames are the times between two pictures while the list scrolls for 120
 * steps, still and with 2,000 levels sent four times a second; headless, without GPU.
 */
export async function run(): Promise<void> {
  weigh();
  await using browser = await startBrowser();
  await everyView(browser);
  await apiReference(browser);
  await manyLive(browser);
}

const looks = [
  ['1280', {}],
  ['390', { width: 390 }],
  ['dark', { dark: true }],
  ['200%', { width: 640 }],
] as const;

const paintedTimes = 3;
const wider = 'Math.max(0, document.documentElement.scrollWidth - innerWidth)';

async function everyView(browser: Browser): Promise<void> {
  console.log(
    `${'view'.padEnd(26)}${looks.map(([name]) => name.padEnd(14)).join('')}paint    shown`,
  );
  console.log(
    `${''.padEnd(26)}${looks.map(() => 'axe, too wide'.padEnd(14)).join('')}median of ${paintedTimes}, ms`,
  );
  for (const scene of scenes) {
    const cells: string[] = [];
    const times: { paintMs: number; shownMs: number }[] = [];
    for (const [name, look] of looks) {
      const isMeasured = name === '1280';
      for (let load = 0; load < (isMeasured ? paintedTimes : 1); load++) {
        await using api = await apiOf(scene);
        const open = await openScene(browser, api, scene, look);
        if (isMeasured) times.push(open);
        if (load === 0)
          cells.push(
            await judged(open, `bench-${scene.name.replace(/\W+/g, '-')}-${name.replace('%', '')}`),
          );
        await open.page.context().close();
      }
    }
    const ms = (of: 'paintMs' | 'shownMs') => median(times.map((one) => one[of])).toFixed(0);
    const row = cells.map((cell) => cell.padEnd(14)).join('');
    console.log(`${scene.name.padEnd(26)}${row}${ms('paintMs').padEnd(9)}${ms('shownMs')}`);
  }
}

async function judged(
  open: Pick<Awaited<ReturnType<typeof openScene>>, 'page' | 'screenshot' | 'violations'>,
  name: string,
): Promise<string> {
  const found = await open.violations();
  const px = await open.page.evaluate<number>(wider);
  await open.screenshot(name);
  // One place is enough for each rule: a library's page breaks one of them a hundred times.
  const rules = Map.groupBy(found, (one) => one.slice(0, one.indexOf(':')));
  for (const places of rules.values())
    console.log(`  ! ${name}: ${places.length} times ${(places[0] ?? '').slice(0, 120)}`);
  return `${found.length}, ${px} px`;
}

/** The API reference is a library's own page: it is opened at the real program. */
async function apiReference(browser: Browser): Promise<void> {
  await using app = await startApp();
  const cells: string[] = [];
  let paintMs = 0;
  for (const [name, look] of looks) {
    const open = await browser.open(`${app.url}/docs`, look);
    await open.page.locator('.opblock').first().waitFor();
    if (name === '1280')
      paintMs = await open.page.evaluate<number>(
        `performance.getEntriesByName('first-contentful-paint')[0].startTime`,
      );
    cells.push(await judged(open, `bench-docs-${name.replace('%', '')}`));
    await open.page.context().close();
  }
  console.log(
    `${'docs'.padEnd(26)}${cells.map((cell) => cell.padEnd(14)).join('')}${paintMs.toFixed(0)}`,
  );
}

async function manyLive(browser: Browser): Promise<void> {
  const base = { events: {}, deliveries: [], installation: recordedInstallation };
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
