import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { programOnPath } from '../process/programs.ts';
import { unpacked } from '../process/unpacked.ts';

/** A browser that Playwright can start, with the environment that it needs. */
export type BrowserProgram = { readonly path: string; readonly env: NodeJS.ProcessEnv };

const installed = programOnPath('chromium', 'chromium-browser', 'google-chrome');
const packed = packedBrowser();

/** The reason why there is no browser, for the name of a skipped test. Undefined if there is one. */
export const browserMissing: string | undefined =
  installed !== undefined || packed !== undefined
    ? undefined
    : 'Chromium is not installed, and npm brings one for Linux on x86-64 only';

/** The browser of this machine, or the one installed by `npm ci`. */
export async function browserProgram(): Promise<BrowserProgram> {
  if (installed !== undefined) return { path: installed, env: process.env };
  if (packed === undefined) throw new Error(browserMissing);
  const folder = await unpacked(`chromium-${packed.version}`, unpack);
  return {
    path: join(folder, 'chromium'),
    env: {
      ...process.env,
      // The package also contains the TLS libraries that a minimal system lacks.
      LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
      FONTCONFIG_PATH: join(folder, 'fonts'),
    },
  };
}

function packedBrowser(): { version: string } | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const folder = new URL('../../../node_modules/@sparticuz/chromium/', import.meta.url);
  if (!existsSync(new URL('bin/chromium.br', folder))) return undefined;
  const text = readFileSync(new URL('package.json', folder), 'utf8');
  return { version: (JSON.parse(text) as { version: string }).version };
}

/** The package's own configuration searches for fonts in `/tmp/fonts`, whatever the temporary folder is. */
const fontsConfig = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

/**
 * The package unpacks itself into the temporary folder of its process, so it runs in a process with a folder of its
 * own.
 */
async function unpack(folder: string): Promise<void> {
  const program = `
    import chromium, { inflate } from '@sparticuz/chromium';
    await chromium.executablePath();
    await inflate(process.env.LIBRARIES);
  `;
  const entry = import.meta.resolve('@sparticuz/chromium');
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    env: { TMPDIR: folder, LIBRARIES: fileURLToPath(new URL('../bin/al2023.tar.br', entry)) },
  });
  await writeFile(join(folder, 'fonts', 'fonts.conf'), fontsConfig);
}
