import type { Router } from 'express';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Health } from '../lib/health.ts';

/**
 * The requests that may use a route: all; those with a key or a sign-in; or those with a key of the speech interface.
 */
export type Access = 'public' | 'operator' | 'speech';

export type Upgrade = {
  /** True if this part answers upgrades at this path. */
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

/** A part of the process: its routes and upgrades at the port, and its work when the process starts and stops. */
export type Part = {
  name: string;
  /** The paths of the routes are absolute. */
  routers?: { access: Access; router: Router }[];
  upgrades?: Upgrade[];
  health?(): Record<string, Health> | Promise<Record<string, Health>>;
  /**
   * Returns lines for the start of the process: features that are on, features that are off, and the command that
   * helps.
   */
  notes?(): string[];
  /** Returns optional features that are not set up, each with the way to set it up. They are not warnings. */
  missing?(): string[];
  /** Returns models that are not installed, each with its use. They are not warnings. */
  notInstalled?(): Promise<string[]>;
  /**
   * Tells a person what the process would wait for if it stopped now with this deadline. Undefined if it would not
   * wait.
   */
  waitsFor?(deadlineMs: number): string | undefined;
  /**
   * Called when the process is about to stop. All parts are told at once, before the first of them drains. Resolves
   * soon.
   */
  leaving?(): Promise<void>;
  /** Accepts nothing new, and finishes as much as possible before the deadline. */
  drain?(deadlineMs: number): Promise<void>;
};
