import { z } from 'zod';

export const NodesConfig = z.strictObject({
  silentMs: z.number().int().min(1_000).max(3_600_000).default(7_500).meta({
    env: 'TRUNKLINE_NODE_SILENT_MS',
    description:
      'How long a node that shares the Postgres may give no sign of life before the others take its calls over.',
  }),
});

export type NodesConfig = z.infer<typeof NodesConfig>;
