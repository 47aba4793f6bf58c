import type { Router } from 'express';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Health } from '../lib/health.ts';

/** Who may use a route: everybody, whoever has a key or is signed in, or whoever has a key of the speech interface. */
export type Access = 'public' | 'operator' | 'speech';

export type Upgrade = {
  /** True when the path belongs to this part. */
  owns(pathname: string): boolean;
  /**
   * Settles when the socket is let in or refused. Until then it holds one of the places of undecided upgrades.
   * `admitted` is called when the peer has shown who it is, at the upgrade or later: until then the connection counts
   * to the share of its address, because an upgrade alone proves nothing.
   */
  handle(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    admitted: () => void,
  ): Promise<void>;
};

/** What a part of the process gives to the one port and to the life of the process. */
export type Part = {
  name: string;
  /** Paths are absolute. */
  routers?: { access: Access; router: Router }[];
  upgrades?: Upgrade[];
  health?(): Record<string, Health> | Promise<Record<string, Health>>;
  /** Lines for the start of the process: what is on, what is missing and the command that mends it. */
  notes?(): string[];
  /** What an installation can do without and this one has not set up, each with what sets it up; no warnings. */
  missing?(): string[];
  /** What a stop with this deadline would wait for now, for a person; undefined for nothing. */
  waitsFor?(deadlineMs: number): string | undefined;
  /** The process is about to stop: said to all parts at once, before the first of them drains. Resolves soon. */
  leaving?(): Promise<void>;
  /** Takes nothing new and finishes what can be finished before the deadline. */
  drain?(deadlineMs: number): Promise<void>;
};
