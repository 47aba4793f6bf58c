import { z } from 'zod';

export const NodesConfig = z.strictObject({
  silentMs: z.number().int().min(1_000).max(3_600_000).default(7_500).meta({
    env: 'TRUNKLINE_NODE_SILENT_MS',
    description:
      'A node that shares the Postgres may give no sign of life for this long; then the others take its calls over.',
  }),
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      env: 'TRUNKLINE_NODE_URL',
      description:
        'The address at which the other nodes reach this one, and at which it listens for them; without it a stream or request for a call of this node is not passed on.',
    }),
  key: z.string().min(24).optional().meta({
    env: 'TRUNKLINE_NODE_KEY',
    secret: true,
    description:
      'The key that all nodes show one another; the same everywhere, at least 24 characters.',
  }),
  tlsCert: z.string().optional().meta({
    env: 'TRUNKLINE_NODE_TLS_CERT',
    description: 'File of the certificate, where TRUNKLINE_NODE_URL is https.',
  }),
  tlsKey: z.string().optional().meta({
    env: 'TRUNKLINE_NODE_TLS_KEY',
    description: 'File of its private key.',
  }),
  tlsCa: z.string().optional().meta({
    env: 'TRUNKLINE_NODE_TLS_CA',
    description: 'File of the authority that signed the certificates of the other nodes.',
  }),
});

export type NodesConfig = z.infer<typeof NodesConfig>;

/** Lists each setting that is set without another setting that it needs. */
export function nodesProblems(
  { url, key, tlsCert, tlsKey }: NodesConfig,
  databaseUrl: string | undefined,
): string[] {
  if (url === undefined)
    return key === undefined
      ? []
      : ['nodes.key: TRUNKLINE_NODE_KEY is of use with TRUNKLINE_NODE_URL alone'];
  const problems: string[] = [];
  if (key === undefined)
    problems.push('nodes.url: TRUNKLINE_NODE_URL needs TRUNKLINE_NODE_KEY, the same at all nodes');
  if (databaseUrl === undefined)
    problems.push('nodes.url: several nodes need one Postgres: set DATABASE_URL');
  if (url.startsWith('https:') && (tlsCert === undefined || tlsKey === undefined))
    problems.push(
      'nodes.url: https needs TRUNKLINE_NODE_TLS_CERT and TRUNKLINE_NODE_TLS_KEY, and the others TRUNKLINE_NODE_TLS_CA',
    );
  return problems;
}
