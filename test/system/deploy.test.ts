import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, fetch as fetchWith } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { fleetOf, type Fleet } from '../support/bridge/fleet.ts';
import { freePort } from '../support/process/free-port.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
} from '../support/carriers/carrier-client.ts';
import {
  ask,
  deploy,
  deployFile,
  missing,
  nginxConfig,
  pathOf,
  root,
  withFile,
} from '../support/deploy/checkers.ts';
import { endsWithUs } from '../support/process/ends-with-us.ts';
import { until } from '../support/process/until.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../support/store/postgres.ts';

/** Every file of config/deploy is read by the program that it is for. */
const certificate = join(root, 'test/fixtures/tls/good.pem');

describe('each file is content for its own tool', () => {
  test.skipIf(missing('caddy'))('the file for Caddy', () => {
    const env = {
      DOMAIN: 'calls.example.com',
      UPSTREAMS: 'bridge-1:8080 bridge-2:8080',
      UPSTREAMS_BACKWARDS: 'bridge-2:8080 bridge-1:8080',
    };
    const checked = ask('caddy', ['validate', '--config', join(deploy, 'Caddyfile'), '--adapter', 'caddyfile'], { env }); // prettier-ignore
    expect(checked.isContent, checked.says).toBe(true);
    expect(ask('caddy', ['fmt', join(deploy, 'Caddyfile')]).says).toBe(deployFile('Caddyfile'));
  });

  test.skipIf(missing('nginx'))('the file for nginx', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'trunkline-nginx-'));
    const upstreams = ['127.0.0.1:1', '127.0.0.1:2'];
    const config = nginxConfig(folder, { port: 1, upstreams, certificate });
    const { isContent, says } = withFile('nginx.conf', config, (path) =>
      ask('nginx', ['-t', '-c', path]),
    );
    await rm(folder, { recursive: true });
    expect(isContent, says).toBe(true);
  });

  test.skipIf(missing('kubernetes-validate')).each(['1.30', '1.37'])(
    'the manifests, for Kubernetes %s',
    (version) => {
      const folder = join(deploy, 'kubernetes');
      const files = readdirSync(folder).map((name) => join(folder, name));
      expect(files.length).toBeGreaterThan(3);
      const { isContent, says } = ask('kubernetes-validate', ['-k', version, '--strict', ...files]);
      expect(isContent, says).toBe(true);
    },
  );

  test.skipIf(missing('python')).each(['compose.yaml', 'compose-single.yaml'])('%s', (name) => {
    // The tool knows neither merged maps nor the variables of a person's own `.env`.
    const text = deployFile(name).replace(/\$\{([A-Z_]+):\?\}/g, 'given');
    const file = parse(text, { merge: true }) as object;
    const input = JSON.stringify(
      Object.fromEntries(Object.entries(file).filter(([key]) => !key.startsWith('x-'))),
    );
    const program = [
      'import sys, compose_spec',
      'read = compose_spec.PyCompose.from_json(sys.stdin.read())',
      'read.validate(); read.validate_networks(); read.validate_volumes(); read.to_spec()',
    ].join('\n');
    const { isContent, says } = ask('python', ['-c', program], { input });
    expect(isContent, says).toBe(true);
  });

  test.skipIf(missing('systemd-analyze'))('the unit of systemd, which gives no right away', () => {
    // The program must be where the unit says; the rest of it is as it is shipped.
    const unit = deployFile('trunkline.service').replaceAll('/opt/trunkline', root);
    withFile('trunkline.service', unit, (path) => {
      const verified = ask('systemd-analyze', ['verify', path]);
      expect(verified, verified.says).toEqual({ isContent: true, says: '' });
      const { says } = ask('systemd-analyze', ['security', '--offline=true', path]);
      // From 0 to 10; a unit without a word on it has 9.6.
      expect(Number(/Overall exposure level for \S+: ([\d.]+)/.exec(says)?.[1]), says).toBeLessThan(
        2,
      );
    });
  });
});

describe.skipIf(postgresMissing)('in front of two nodes', () => {
  const key = 'a-key-of-the-operator-of-this-test';
  let postgres: TestPostgres;
  let fleet: Fleet;
  const proxies = new AsyncDisposableStack();

  beforeAll(async () => {
    postgres = await startPostgres();
    fleet = await fleetOf(2, postgres, {
      TRUNKLINE_API_KEYS: key,
      TRUNKLINE_TRUSTED_PROXIES: '127.0.0.1,::1',
    });
  });
  afterAll(async () => {
    await proxies.disposeAsync();
    await fleet[Symbol.asyncDispose]();
    await postgres[Symbol.asyncDispose]();
  });
  const upstreams = (): string[] => fleet.nodes.map(({ url }) => new URL(url).host);

  const starts: { name: 'nginx' | 'caddy'; start: () => Promise<Proxy> }[] = [
    { name: 'nginx', start: () => startNginx(proxies, upstreams()) },
    { name: 'caddy', start: () => startCaddy(proxies, upstreams()) },
  ];
  const running: Proxy[] = [];

  test.each(starts.filter(({ name }) => missing(name) === undefined))(
    '$name takes a stream in, over TLS, and says who asked and how',
    async ({ start }) => {
      const proxy = await start();
      running.push(proxy);
      await using client = await openStream(proxy, key);
      for (let chunk = 2; chunk < 40; chunk++)
        client.send(twilioMedia(chunk, Buffer.alloc(160, chunk)));
      const askFor = async <T>(path: string): Promise<T> =>
        (await (await proxy.get(path, key)).json()) as T;
      const id = await until(async () => {
        const { items } = await askFor<{ items: Call[] }>('/api/calls?limit=1');
        return items[0]?.carrier_call_id === client.callSid && items[0].id;
      });
      await until(async () => {
        const { legs } = await askFor<Call>(`/api/calls/${id}`);
        return legs.some(({ ledger }) => ledger.received === 38 * 160);
      });
    },
  );

  const noProxy = missing('nginx') && missing('caddy');
  test.skipIf(noProxy)(
    'a node that stops gets nothing new, and nobody is refused meanwhile',
    async () => {
      expect(running.length).toBeGreaterThan(0);
      const [first] = fleet.nodes;
      // A call of its own keeps the node in its drain.
      await using client = await CarrierClient.open(await mintedAt(first?.url ?? '', key));
      client.send(twilioConnected, twilioStart({ streamSid: 'MZdrain', callSid: 'CAdrain' }));
      await client.ping();
      first?.process.kill('SIGTERM');
      await until(() => first?.lines.some((line) => line.includes('stopping')));
      const answers = await Promise.all(
        running.flatMap((proxy) =>
          Array.from({ length: 10 }, async () => (await proxy.get('/api/calls', key)).status),
        ),
      );
      expect(answers.filter((status) => status !== 200)).toEqual([]);
      // Several: some would go to the one that stops.
      for (const proxy of [...running, ...running, ...running]) {
        await using next = await openStream(proxy, key);
        expect(next.closed).toBeUndefined();
      }
    },
  );
});

let calls = 0;
type Call = { id: string; carrier_call_id: string; legs: { ledger: { received: number } }[] };
type Answer = { status: number; json(): Promise<unknown> };
type Proxy = { url: string; ca: string; get(path: string, key: string): Promise<Answer> };

async function openStream(proxy: Proxy, key: string): Promise<CarrierClient & { callSid: string }> {
  const answer = await proxy.get('/api/streams', key);
  const { url } = (await answer.json()) as { url: string };
  // The proxy said by which address it was asked.
  expect(url).toMatch(new RegExp(`^${proxy.url.replace('https', 'wss')}/carriers/twilio/`));
  const client = await CarrierClient.open(url, {}, { ca: proxy.ca });
  const callSid = `CA${++calls}`;
  client.send(
    twilioConnected,
    twilioStart({ tracks: ['inbound'], streamSid: `MZ${calls}`, callSid }),
  );
  return Object.assign(client, { callSid });
}

async function mintedAt(url: string, key: string): Promise<string> {
  const answer = await fetch(`${url}/api/streams`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-key': key },
    body: '{"carrier":"twilio"}',
  });
  return ((await answer.json()) as { url: string }).url;
}

async function proxyAt(url: string, ca: string): Promise<Proxy> {
  const dispatcher = new Agent({ connect: { ca }, pipelining: 0 });
  const proxy: Proxy = {
    url,
    ca,
    get: (path, key) =>
      fetchWith(url + path, {
        dispatcher,
        headers: { 'content-type': 'application/json', 'x-service-key': key },
        ...(path === '/api/streams' ? { method: 'POST', body: '{"carrier":"twilio"}' } : {}),
      }),
  };
  await until(async () => {
    const answer = await proxy.get('/health/ready', '').catch(() => undefined);
    return answer?.status === 200;
  });
  return proxy;
}

async function folderOf(stack: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-proxy-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function run(stack: AsyncDisposableStack, program: string, args: string[], env = {}): void {
  const child = endsWithUs(spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...env } })); // prettier-ignore
  const ended = new Promise((resolve) => child.once('exit', resolve));
  stack.defer(async () => {
    child.kill('SIGTERM');
    await ended;
  });
}

async function startNginx(stack: AsyncDisposableStack, upstreams: string[]): Promise<Proxy> {
  const folder = await folderOf(stack);
  const port = await freePort();
  const config = join(folder, 'nginx.conf');
  writeFileSync(config, nginxConfig(folder, { port, upstreams, certificate }));
  run(stack, pathOf('nginx'), ['-c', config]);
  return proxyAt(
    `https://127.0.0.1:${port}`,
    readFileSync(join(root, 'test/fixtures/tls/ca.pem'), 'utf8'),
  );
}

/** With an authority of its own, as Caddy has one for names that only this machine knows. */
async function startCaddy(stack: AsyncDisposableStack, upstreams: string[]): Promise<Proxy> {
  const folder = await folderOf(stack);
  const url = `https://localhost:${await freePort()}`;
  const own = `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tstorage file_system ${folder}\n}\n`;
  const config = join(folder, 'Caddyfile');
  writeFileSync(config, own + deployFile('Caddyfile'));
  run(stack, pathOf('caddy'), ['run', '--config', config, '--adapter', 'caddyfile'], {
    DOMAIN: url,
    UPSTREAMS: upstreams.join(' '),
    UPSTREAMS_BACKWARDS: upstreams.toReversed().join(' '),
    HOME: folder,
  });
  const ca = join(folder, 'pki/authorities/local/root.crt');
  await until(() => existsSync(ca));
  return proxyAt(url, readFileSync(ca, 'utf8'));
}
