import type { Router } from 'express';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Health } from '../lib/health.ts';

export type Upgrade = {
  /** True when the path belongs to this part. */
  owns(pathname: string): boolean;
  /** Settles when the socket is let in or refused: until then it holds one of the places of undecided ones. */
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
};

/** What a part of the process gives to the one port and to the life of the process. */
export type Part = {
  name: string;
  /** Paths are absolute. `operator` routes and `speech` routes both need a key when keys are set. */
  routers?: { access: 'public' | 'operator' | 'speech'; router: Router }[];
  upgrades?: Upgrade[];
  health?(): Record<string, Health> | Promise<Record<string, Health>>;
  /** Lines for the start of the process: what is on, what is missing and the command that mends it. */
  notes?(): string[];
  /** Take nothing new, finish what can be finished before the deadline. */
  drain?(deadlineMs: number): Promise<void>;
};
