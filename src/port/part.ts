import type { Router } from 'express';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Health } from '../lib/health.ts';

/**
 * The requests that may use a route: all; those with a key or a sign-in; or those with a key of the speech interface.
 */
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

/** A part of the process: the routes and upgrades that it adds to the port, and its role at start and stop. */
export type Part = {
  name: string;
  /** Paths are absolute. */
  routers?: { access: Access; router: Router }[];
  upgrades?: Upgrade[];
  health?(): Record<string, Health> | Promise<Record<string, Health>>;
  /**
   * Gives lines for the start of the process: the things that are on, those that are missing, and the command that
   * helps.
   */
  notes?(): string[];
  /** Optional things that this installation has not set up, each with the way to set it up; no warnings. */
  missing?(): string[];
  /** Models that are not here, each with what it would bring; no warnings. */
  notInstalled?(): Promise<string[]>;
  /** Says for a person what a stop with this deadline would wait for now; undefined for nothing. */
  waitsFor?(deadlineMs: number): string | undefined;
  /**
   * Tells the part that the process is about to stop. All parts are told at once, before the first of them drains.
   * Resolves soon.
   */
  leaving?(): Promise<void>;
  /** Takes nothing new and finishes what can be finished before the deadline. */
  drain?(deadlineMs: number): Promise<void>;
};
