import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { programOnPath } from '../process/programs.ts';

export const root = resolve(import.meta.dirname, '../../..');
export const deploy = resolve(root, 'config/deploy');
export const deployFile = (name: string): string => readFileSync(join(deploy, name), 'utf8');

/** The folder where `.ci/run` installs the packages from the Python index. */
const checkers = process.env['TEST_CHECKERS'] ?? '/opt/trunkline-checkers';

const paths = {
  caddy: join(checkers, 'bin/caddy'),
  'kubernetes-validate': join(checkers, 'bin/kubernetes-validate'),
  python: join(checkers, 'bin/python'),
  nginx: programOnPath('nginx') ?? 'nginx',
  'systemd-analyze': programOnPath('systemd-analyze') ?? 'systemd-analyze',
};
type Tool = keyof typeof paths;

/** The reason why this tool cannot run here, for the name of a skipped test. */
export const missing = (tool: Tool): string | undefined =>
  existsSync(paths[tool]) ? undefined : `${tool} is not installed`;

export const pathOf = (tool: Tool): string => paths[tool];

/** Runs the tool and returns its output. `isContent` is its verdict. */
export function ask(
  tool: Tool,
  args: readonly string[],
  options: { input?: string; env?: Record<string, string> } = {},
): { isContent: boolean; says: string } {
  const { status, stdout, stderr, error } = spawnSync(paths[tool], args, {
    encoding: 'utf8',
    input: options.input ?? '',
    env: { PATH: process.env['PATH'] ?? '', HOME: tmpdir(), ...options.env },
  });
  if (error) throw error;
  return { isContent: status === 0, says: stdout + stderr };
}

/** Writes the text to a file in a temporary folder and runs a function with its path. */
export function withFile<T>(name: string, text: string, run: (path: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-deploy-'));
  try {
    const path = join(folder, name);
    writeFileSync(path, text);
    return run(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The nginx file as a complete configuration, with all paths of the machine in this folder. */
export function nginxConfig(
  folder: string,
  given: { port: number; upstreams: readonly string[]; certificate: string },
): string {
  const shipped = deployFile('nginx.conf');
  const changed = [
    [/listen 443 ssl;/, `listen 127.0.0.1:${given.port} ssl;`],
    [/ *listen \[::\]:443 ssl;\n/, ''],
    [/\/etc\/ssl\/trunkline\/fullchain\.pem/, given.certificate],
    [/\/etc\/ssl\/trunkline\/privkey\.pem/, given.certificate],
    [/\/var\/log\/nginx\/trunkline\.log/, join(folder, 'access.log')],
    [/\/var\/log\/nginx\/trunkline-error\.log/, join(folder, 'error.log')],
    [
      /server 127\.0\.0\.1:8080 (.*);/,
      given.upstreams.map((upstream) => `server ${upstream} $1;`).join('\n    '),
    ],
  ] as const;
  let site = shipped;
  for (const [what, by] of changed) {
    if (!what.test(site)) throw new Error(`nginx.conf has no ${what.source}`);
    site = site.replace(what, by);
  }
  writeFileSync(join(folder, 'trunkline.conf'), site);
  const own = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `  ${kind}_temp_path ${folder}/${kind};`,
  );
  return [
    `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/main.log;`,
    'events { worker_connections 256; }',
    `http {\n${own.join('\n')}\n  include ${folder}/trunkline.conf;\n}`,
    '',
  ].join('\n');
}
