import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type BrowserContext, type Page, type Request } from 'playwright-core';
import { browserProgram } from './chromium.ts';

const screenshots = new URL('../../screenshots/', import.meta.url).pathname;
const axeFile = new URL('../../../node_modules/axe-core/axe.min.js', import.meta.url);

/** Without these flags a browser contacts hosts that no test should need. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--autoplay-policy=no-user-gesture-required',
  '--mute-audio',
];

export type Browser = AsyncDisposable & {
  open(address: string, options?: { dark?: boolean; width?: number }): Promise<OpenPage>;
};

export type OpenPage = {
  page: Page;
  /** Console messages, page errors, failed requests, answers from 400 up, and requests to other hosts. */
  problems: string[];
  screenshot(name: string): Promise<void>;
  /** The violations that axe finds now, one line each. */
  violations(): Promise<string[]>;
};

/** A headless Chromium with its own profile, which is deleted with it. */
export async function startBrowser(): Promise<Browser> {
  const { path, env } = await browserProgram();
  const browser = await chromium.launch({
    executablePath: path,
    env,
    headless: true,
    args: flags,
  });
  return {
    async open(address, { dark = false, width = 1280 } = {}) {
      const context = await browser.newContext({
        viewport: { width, height: 900 },
        colorScheme: dark ? 'dark' : 'light',
        locale: 'en-GB',
      });
      return watched(context, address);
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

async function watched(context: BrowserContext, address: string): Promise<OpenPage> {
  const page = await context.newPage();
  const problems: string[] = [];
  const { host } = new URL(address);
  page.on('console', (message) => problems.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  // A browser cancels the requests of a page that is left, which is no error. The old page may send more until the next
  // one is there.
  const pages = new WeakMap<Request, number>();
  let asked = 0;
  let shown = 0;
  page.on('framenavigated', () => {
    shown = asked;
  });
  page.on('request', (request) => {
    const isPage = request.isNavigationRequest();
    if (isPage) asked += 1;
    pages.set(request, isPage ? asked : shown);
    const url = new URL(request.url());
    if (url.protocol !== 'data:' && url.host !== host) problems.push(`other host: ${url.href}`);
  });
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    if (reason === 'net::ERR_ABORTED' && (pages.get(request) ?? 0) < asked) return;
    // A player that knows the length of its recording cancels the rest until somebody plays it.
    if (reason === 'net::ERR_ABORTED' && request.resourceType() === 'media') return;
    problems.push(`failed: ${request.resourceType()} ${request.url()} ${reason}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()}: ${response.url()}`);
  });
  await page.goto(address);
  return {
    page,
    problems,
    async screenshot(name) {
      mkdirSync(screenshots, { recursive: true });
      await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
    },
    async violations() {
      // The script is evaluated, because the page's own policy would rightly refuse an added script.
      if (!(await page.evaluate<boolean>(`'axe' in globalThis`)))
        await page.evaluate(readFileSync(axeFile, 'utf8'));
      return page.evaluate(async () => {
        type Axe = {
          run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
        };
        const { axe } = globalThis as unknown as { axe: Axe };
        const { violations } = await axe.run();
        return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
      });
    },
  };
}
