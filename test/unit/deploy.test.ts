import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { configFields, loadConfig } from '../../src/config.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(resolve(root, name), 'utf8');
const settings = configFields.map(({ env }) => env);
/** The time that a stop may take beyond its drain, and the drain where no setting says another. */
const putAwayS = 12;
const defaultDrainS = loadConfig({}).config.drainS;

describe('systemd', () => {
  const unit = read('config/deploy/trunkline.service');

  test('the unit starts what npm start starts, and names settings that there are', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: { start: string } };
    const started = /^ExecStart=\/opt\/trunkline\/node_modules\/\.bin\/node (.*)$/m.exec(unit)?.[1];
    expect(`exec node ${started ?? ''}`).toBe(scripts.start);
    const variables = [...unit.matchAll(/^Environment=(.*)$/gm)]
      .flatMap(([, words = '']) => words.split(' '))
      .map((word) => word.split('=')[0] ?? '')
      .filter((name) => !/^MALLOC_|^TRUNKLINE_CONFIG$/.test(name));
    expect(variables.length).toBeGreaterThan(1);
    expect(variables.filter((name) => !settings.includes(name))).toEqual([]);
  });

  test('the unit allows a stop more time than it may take', () => {
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(
      defaultDrainS + putAwayS,
    );
  });
});

describe('compose', () => {
  const read1 = (name: string) =>
    parse(read(`config/deploy/${name}`), { merge: true }) as Composition;
  const files = ['compose.yaml', 'compose-single.yaml'];
  const nodesOf = ({ services }: Composition): [string, Service][] =>
    Object.entries(services).filter(([, { build }]) => build !== undefined);

  test.each(files)('%s: nodes have no privilege, a disk each, and time to stop', (name) => {
    const composition = read1(name);
    const disks = nodesOf(composition).map(([, service]) => {
      expect(service).toMatchObject({
        build: '../..',
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      const drainS = Number(service.environment?.['TRUNKLINE_DRAIN_S'] ?? defaultDrainS);
      expect(parseInt(service.stop_grace_period, 10)).toBeGreaterThan(drainS + putAwayS);
      const [volume = '', ...others] = service.volumes;
      expect(volume).toMatch(/:\/data$/);
      expect(others).toEqual([]);
      return volume.split(':')[0] ?? '';
    });
    expect(new Set(disks).size).toBe(disks.length);
    const named = Object.values(composition.services)
      .flatMap(({ volumes }) => volumes)
      .filter((volume, at, all) => all.indexOf(volume) === at)
      .map((volume) => volume.split(':')[0] ?? '')
      .filter((source) => !source.startsWith('.'));
    expect(named.toSorted()).toEqual(Object.keys(composition.volumes).toSorted());
    expect(read('Dockerfile')).toContain('VOLUME /data');
  });

  test.each(files)(
    '%s: every service has an init, an exact image and no right it does not need',
    (name) => {
      for (const [service, given] of Object.entries(read1(name).services)) {
        expect(given, service).toMatchObject({
          init: true,
          cap_drop: ['ALL'],
          security_opt: ['no-new-privileges:true'],
        });
        // Ports below 1024 are the proxy's alone.
        expect([service, given.cap_add]).toEqual([
          service,
          service === 'proxy' ? ['NET_BIND_SERVICE'] : undefined,
        ]);
        expect(given.build ?? given.image, service).toMatch(/^\.\.\/\.\.$|:v?\d+\.\d+/);
      }
    },
  );

  test.each(files)('%s names settings that there are, and services that there are', (name) => {
    const composition = read1(name);
    for (const [service, { environment = {}, depends_on }] of nodesOf(composition)) {
      expect(
        Object.keys(environment).filter((variable) => !settings.includes(variable)),
        service,
      ).toEqual([]);
      for (const other of Object.keys(depends_on ?? {}))
        expect(Object.keys(composition.services)).toContain(other);
    }
    const { environment = {} } = composition.services['proxy'] as Service;
    const upstreams = environment['UPSTREAMS']?.split(' ') ?? [];
    expect(upstreams.length).toBeGreaterThan(0);
    for (const upstream of upstreams)
      expect(Object.keys(composition.services)).toContain(upstream.split(':')[0]);
    expect(environment['UPSTREAMS_BACKWARDS']).toBe(upstreams.toReversed().join(' '));
  });

  test.each(files)('the nodes of %s start with these settings', (name) => {
    for (const [, { environment = {} }] of nodesOf(read1(name)))
      expectToStart(
        Object.fromEntries(
          Object.entries(environment).map(([variable, value]) => [
            variable,
            value.replace('${DOMAIN:?}', 'calls.example.com').replace(/\$\{[A-Z_]+:\?\}/, 'given'),
          ]),
        ),
      );
  });

  test('the order of text of the database comes with its server, so that no later image changes it', () => {
    const { environment } = read1('compose.yaml').services['postgres'] ?? {};
    expect(environment?.['POSTGRES_INITDB_ARGS']).toBe(
      '--locale-provider=builtin --locale=C.UTF-8',
    );
  });

  test('the bridges believe the proxy alone, and the nodes of a fleet are told apart', () => {
    const { services, networks } = read1('compose.yaml');
    const proxy = services['proxy']?.networks as { inside: { ipv4_address: string } };
    const believed = Object.values(services).flatMap(
      ({ environment }) => environment?.['TRUNKLINE_TRUSTED_PROXIES'] ?? [],
    );
    expect(believed).toEqual([proxy.inside.ipv4_address, proxy.inside.ipv4_address]);
    const [given] = networks.inside.ipam.config;
    // Docker gives its other addresses out of the upper half.
    expect(given).toMatchObject({ subnet: '172.30.80.0/24', ip_range: '172.30.80.128/25' });
    for (const [name, { environment = {} }] of nodesOf(read1('compose.yaml')))
      expect(environment['TRUNKLINE_NODE_URL']).toBe(`http://${name}:9090`);
    const single = read1('compose-single.yaml');
    expect(single.services['trunkline']?.environment?.['TRUNKLINE_TRUSTED_PROXIES']).toBe(
      single.networks.inside.ipam.config[0]?.subnet,
    );
  });

  test('secrets that stand beside a composition come into neither the repository nor the image', () => {
    // The image copies config/.
    for (const file of ['.dockerignore', '.gitignore'])
      expect(read(file).split('\n')).toEqual(expect.arrayContaining(['config/deploy/*.env', 'config/deploy/.env'])); // prettier-ignore
  });
});

describe('Kubernetes', () => {
  const manifests = readdirSync(resolve(root, 'config/deploy/kubernetes')).flatMap((file) =>
    parseAllDocuments(read(`config/deploy/kubernetes/${file}`)).map(
      (document) => document.toJS() as Manifest,
    ),
  );
  const sets = manifests.filter(({ kind }) => kind === 'StatefulSet');

  test.each(sets.map((set) => [set.metadata.name, set] as const))(
    '%s has no privilege, is asked how it is, and has time to stop',
    (_name, { spec }) => {
      const pod = spec.template.spec;
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        },
      });
      const [container] = pod.containers;
      expect(container).toMatchObject({
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        startupProbe: { httpGet: { path: '/health/live' } },
        livenessProbe: { httpGet: { path: '/health/live' } },
        readinessProbe: { httpGet: { path: '/health/ready' } },
      });
      const waitS = Number(container?.lifecycle.preStop.exec.command[1]);
      // Those in front have heard of it, by two looks, before the port is closed.
      expect(waitS).toBeGreaterThan(4);
      const [settingsOfAll] = manifests.filter(
        ({ metadata }) => metadata.name === 'trunkline-nodes',
      );
      const drainS = Number(settingsOfAll?.data?.['TRUNKLINE_DRAIN_S']);
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(waitS + drainS + putAwayS);
      expect(spec.volumeClaimTemplates).toHaveLength(1);
    },
  );

  test('the bridges believe single addresses, and no range that other pods share', () => {
    const ranges = manifests
      .flatMap(({ data }) => data?.['TRUNKLINE_TRUSTED_PROXIES']?.split(',') ?? [])
      .map((range) => Number(range.split('/')[1] ?? 32));
    expect(ranges.length).toBeGreaterThan(0);
    for (const bits of ranges) expect(bits).toBeGreaterThanOrEqual(28);
  });

  test('every set has a disruption budget that lets one go at a time', () => {
    const budgets = manifests.filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budgets.map(({ spec }) => spec.selector)).toEqual(sets.map(({ spec }) => spec.selector));
    for (const { spec } of budgets) expect(spec.maxUnavailable).toBe(1);
  });

  test('manifests name settings that there are, and services that there are', () => {
    const names = [
      ...manifests.flatMap(({ kind, data }) =>
        kind === 'ConfigMap' ? Object.keys(data ?? {}) : [],
      ),
      ...sets.flatMap(({ spec }) =>
        (spec.template.spec.containers[0]?.env ?? []).map(({ name }) => name),
      ),
    ].filter((name) => name !== 'POD_IP');
    expect(names.filter((name) => !settings.includes(name))).toEqual([]);
    const services = manifests.filter(({ kind }) => kind === 'Service');
    for (const { spec } of sets)
      expect(services.map(({ metadata }) => metadata.name)).toContain(spec.serviceName);
  });

  test.each(sets.map((set) => [set.metadata.name, set] as const))(
    'the pods of %s start with these settings',
    (_name, { spec }) => {
      const [container] = spec.template.spec.containers;
      const maps = manifests.filter(({ kind }) => kind === 'ConfigMap');
      const shared = (container?.envFrom ?? []).flatMap(({ configMapRef }) =>
        Object.entries(
          maps.find(({ metadata }) => metadata.name === configMapRef?.name)?.data ?? {},
        ),
      );
      expect(shared.length).toBeGreaterThan(1);
      const own = (container?.env ?? []).flatMap(({ name: variable, value }) =>
        value === undefined ? [] : [[variable, value.replace('$(POD_IP)', '10.1.2.3')] as const],
      );
      expectToStart({
        ...Object.fromEntries(shared),
        TRUNKLINE_OBJECTS_ACCESS_KEY: 'given',
        TRUNKLINE_OBJECTS_SECRET_KEY: 'given',
        DATABASE_URL: 'postgres://trunkline:x@postgres/trunkline',
        ...Object.fromEntries(own),
      });
    },
  );

  test('secrets are named in the guide, and none stands in a manifest', () => {
    expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    const guide = read('config/deploy/README.md');
    const secret = sets.flatMap(({ spec }) =>
      (spec.template.spec.containers[0]?.env ?? []).flatMap(
        ({ valueFrom }) => valueFrom?.secretKeyRef?.key ?? [],
      ),
    );
    expect(secret.length).toBeGreaterThan(2);
    for (const name of secret) expect(guide).toContain(name);
  });
});

/** With what the image sets and with the secrets of all nodes, nothing is missing and nothing is unknown. */
function expectToStart(environment: Record<string, string>): void {
  const image = /^ENV (.*HOST=.*)$/m.exec(read('Dockerfile'))?.[1] ?? '';
  const fromImage = Object.fromEntries(image.split(' ').map((pair) => pair.split('=')));
  const isOfFleet = environment['TRUNKLINE_NODE_URL'] !== undefined;
  const { config } = loadConfig({
    ...(fromImage as Record<string, string>),
    TRUNKLINE_API_KEYS: 'a-key-of-24-characters-or-more',
    ...(isOfFleet ? { TRUNKLINE_NODE_KEY: 'another-key-of-24-characters' } : {}),
    ...environment,
  });
  expect(config.http.host).toBe('0.0.0.0');
  expect(config.store.dataDir).toMatch(/^\/data(?:\/trunkline)?$/);
}

type Service = {
  build?: string;
  image?: string;
  cap_add?: string[];
  /** Not of what is there for a moment alone. */
  environment?: Record<string, string>;
  volumes: string[];
  stop_grace_period: string;
  depends_on?: object;
  networks: unknown;
};
type Composition = {
  services: Record<string, Service>;
  networks: { inside: { ipam: { config: { subnet: string; ip_range?: string }[] } } };
  volumes: object;
};
type Container = {
  envFrom?: { configMapRef?: { name: string } }[];
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef?: { key: string } } }[];
  lifecycle: { preStop: { exec: { command: string[] } } };
};
type Manifest = {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec: {
    selector: object;
    serviceName: string;
    maxUnavailable?: number;
    volumeClaimTemplates: object[];
    template: { spec: { terminationGracePeriodSeconds: number; containers: Container[] } };
  };
};
