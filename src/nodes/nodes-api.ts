import { Router } from 'express';
import type { ApiNode, NodeList } from '../protocol/api.ts';
import type { Membership, NodeRow } from './membership.ts';

/** Serves `GET /api/nodes`: the nodes that share the database, as their rows describe them. */
export function nodesApi(membership: Membership): Router {
  const router = Router();
  router.get('/api/nodes', async (_request, response) => {
    const { nowMs, rows } = await membership.rows();
    const items = rows.map((row) => nodeOf(row, nowMs, membership.node));
    response.json({ items } satisfies NodeList);
  });
  return router;
}

function stateOf({ lost_at, left_at, draining }: NodeRow): ApiNode['state'] {
  if (left_at !== null) return 'left';
  if (lost_at !== null) return 'lost';
  return draining === 1 ? 'draining' : 'here';
}

function nodeOf(row: NodeRow, nowMs: number, self: string): ApiNode {
  return {
    id: row.node,
    self: row.node === self,
    state: stateOf(row),
    roles: row.roles.split(','),
    version: row.version,
    address: row.address,
    legs: row.legs,
    capacity: row.capacity,
    speech: row.roles.split(',').includes('speech')
      ? { used: row.speech_used, capacity: row.speech_capacity }
      : null,
    started_at: new Date(row.started_at).toISOString(),
    seen_at: new Date(row.seen_at).toISOString(),
    silent_seconds: Math.max(0, Math.round((nowMs - row.seen_at) / 100) / 10),
    clock_ahead_seconds: Math.round(row.ahead_ms) / 1_000,
  };
}
