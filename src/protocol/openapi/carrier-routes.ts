import type { Route } from './route.ts';

/** Carriers' own HTTP; each carrier authenticates itself as its platform does. */
export const carrierRoutes: readonly Route[] = [];
